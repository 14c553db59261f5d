"""# Deploy a model

Train a classifier, save it to a folder, and answer requests with it.
"""

# %%
# ## Train and save
#
# Saving the weights in 16 bits halves the size and [does not change the
# accuracy](../defaults.md#how-to-save).
import tempfile
import time
from pathlib import Path

import dcot
from dcot import DCoTClassifier, DCoTVectorizer, datasets

corpus = datasets.load("everyday")
vectorizer = DCoTVectorizer(n_prototypes=1000)
model = DCoTClassifier(vectorizer=vectorizer).fit(
    corpus.train_texts, corpus.train_labels
)
folder = Path(tempfile.mkdtemp()) / "model"
model.save(folder, precision="float16")
for path in sorted(folder.iterdir()):
    print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.name[:20]}")

# %%
# ## Safe to load
#
# The folder contains JSON and arrays, but no pickle, so loading runs no code. dcot
# checks everything before it uses it. Here we truncate a file to see what happens:
arrays = next(folder.glob("arrays-*"))
content = arrays.read_bytes()
arrays.write_bytes(content[:-100])
try:
    dcot.load(folder)
except dcot.DcotError as error:
    print(type(error).__name__)
arrays.write_bytes(content)
loaded = dcot.load(folder)
print(loaded.predict(["chop the parsley and simmer the sauce"]))

# %%
# ## How fast?
#
# Measure the documents per second on your own machine:
loaded.predict(corpus.test_texts[:1])  # the first call compiles
start = time.perf_counter()
loaded.predict(corpus.test_texts)
rate = len(corpus.test_texts) / (time.perf_counter() - start)
print(f"{rate:,.0f} documents per second")

# %%
# ## A web service
#
# This service uses [Starlette](https://www.starlette.io). Predicting does not change
# a model, so threads can share it.
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


async def classify(request: Request) -> JSONResponse:
    text = (await request.json()).get("text")
    if not isinstance(text, str) or len(text) > 100_000:
        return JSONResponse(
            {"error": "send {'text': …}, at most 100,000 characters"}, 400
        )
    if not loaded.has_known_terms([text])[0]:
        return JSONResponse({"topic": None, "reason": "no word of this text is known"})
    chances = await run_in_threadpool(loaded.predict_proba, [text])
    best = chances[0].argmax()
    topic = str(loaded.classes_[best])
    return JSONResponse(
        {"topic": topic, "probability": round(float(chances[0][best]), 3)}
    )


app = Starlette(routes=[Route("/classify", classify, methods=["POST"])])

# %%
# Put this code into `service.py`, with `loaded = dcot.load("model")` at the top, and
# serve it with `uvicorn service:app`. Starlette and uvicorn come with the extra
# `explore`. Here we call the app directly, without a network:
import asyncio

import httpx


async def ask(texts: list[object]) -> None:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost"
    ) as client:
        for text in texts:
            print((await client.post("/classify", json={"text": text})).json())


asyncio.run(ask(["The striker scored twice", "Xylophagous zymurgy", 7]))

# %%
# A text without any known word gets no topic, which is better than a guess. To refuse
# uncertain texts as well, see [When to abstain](../classifier.md#when-to-abstain).
# [Save and load](../models.md) has more about model folders. If you want to predict
# without dcot, [export the model](../integrations.md#numpy-alone).
