"""The JSON API: what it answers, what it refuses, and that generated requests do not break it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from tests.unit.web.conftest import wait
from threadpoolctl import threadpool_info, threadpool_limits

from dcot.errors import InvalidParameterError, OutputError
from dcot.web import routes
from dcot.web.formats import read
from dcot.web.security import Access
from dcot.web.server import application, listen, serve, server_of

pytest.importorskip("httpx")


def post(client, path, **body):
    return client.post(f"/api{path}", json=body)


def label(client, identifier, name, **more):
    return post(client, "/labels", changes=[{"id": identifier, "label": name, **more}])


def test_label_and_undo(client, session):
    assert label(client, "0", "oil", expected=None).json() == {"labelled": 1, "notice": ""}
    assert session.labels == {0: "oil"}
    assert label(client, "0", None, expected="oil").json()["labelled"] == 0
    assert session.labels == {}


def test_two_tabs(client, session):
    label(client, "0", "oil", expected=None)
    refused = label(client, "0", "grain", expected=None)
    assert refused.status_code == 409
    assert refused.json()["current"] == "oil"
    assert session.labels == {0: "oil"}
    assert label(client, "0", "grain", expected="oil").status_code == 200


def test_the_text_decides_if_the_page_is_of_another_corpus(client, session, corpus):
    [one] = client.get("/api/next", params={"tab": "t", "n": 1}).json()["documents"]
    text = corpus[0].texts[int(one["id"])]
    changes = [{"id": "95", "label": "oil", "fingerprint": one["fingerprint"], "expected": None}]
    assert client.post("/api/labels", json={"changes": changes}).status_code == 200
    [row] = session.labels
    assert session.documents.texts[row] == text
    changes[0] |= {"label": "grain"}
    refused = client.post("/api/labels", json={"changes": changes})
    assert refused.status_code == 409
    assert (refused.json()["id"], refused.json()["text"]) == ("95", text)
    changes[0] |= {"fingerprint": "0" * 16}
    assert client.post("/api/labels", json={"changes": changes}).status_code == 404
    assert len(session.labels) == 1


def test_documents_have_predictions_and_shaded_words(client, session, corpus):
    session.label({row: corpus[1][row] for row in (0, 1, 4, 5)}, "random")
    session._refit()
    found = client.get("/api/next", params={"tab": "t", "n": 4}).json()["documents"]
    assert len(found) == 4
    for document in found:
        text = corpus[0].texts[int(document["id"])]
        assert "".join(piece for piece, _ in document["pieces"]) == text
        chances = [one["probability"] for one in document["predictions"]]
        assert chances == sorted(chances, reverse=True)
        assert max(abs(share) for _, share in document["pieces"]) == 1
    one = client.get("/api/document", params={"id": "0"}).json()
    assert one["label"] == "oil"


def test_doubtful_labels_come_with_both_explanations(client, session, corpus):
    topics = list(corpus[1])
    labels = {row: topics[row] for row in range(24)}
    labels[0] = "grain"
    session.label(labels, "random")
    session._refit()
    answer = client.get("/api/doubtful").json()
    worst = answer["documents"][0]
    assert worst["id"] == "0"
    assert (worst["given"]["name"], worst["other"]["name"]) == ("grain", "oil")
    assert worst["for_given"] != worst["for_other"]
    # the shades are those of the decision: without its own label, the words speak against it
    assert sum(share for _, share in worst["for_other"]) > 0
    assert sum(share for _, share in worst["for_given"]) < 0


def test_state_progress_seeds_and_look_alikes(client, session):
    assert client.get("/api/progress").json()["curve"] == []
    answer = post(client, "/seeds", name="oil", words=["opec"]).json()
    assert answer["classes"] == [{"name": "oil", "labels": 0, "seeds": ["opec"]}]
    answer = post(client, "/seeds/propose", words=["opec"]).json()
    assert "oil" in [word["word"] for word in answer["words"]]
    assert ["opec", 1.0] in answer["documents"][0]["pieces"]
    assert len(client.get("/api/alike", params={"id": "0"}).json()["documents"]) == 12
    by_seeds = client.get("/api/next", params={"tab": "t", "by": "oil"}).json()["documents"]
    assert {document["how"] for document in by_seeds} == {"seed words"}


def test_export_and_import(client, session, corpus):
    session.label({0: "oil", 4: "grain", 5: ""}, "random")
    for kind in ("csv", "jsonl", "label-studio", "prodigy"):
        answer = client.get("/api/export", params={"format": kind})
        assert "attachment" in answer.headers["content-disposition"]
        assert {(e.id, e.label) for e in read(answer.text, "x")} == {
            ("0", "oil"),
            ("4", "grain"),
            ("5", ""),
        }
        session.label({0: None, 4: None, 5: None}, "other")
        assert post(client, "/import", content=answer.text).json()["imported"] == 3
        assert session.labels == {0: "oil", 4: "grain"}
    assert post(client, "/import", content="nonsense").status_code == 400


def test_rows_without_a_label_change_nothing(client, session, corpus):
    session.label({0: "oil", 1: "oil"}, "random")
    blank = "\n".join(
        json.dumps({"id": str(row), "text": corpus[0].texts[row]}) for row in range(4)
    )
    refused = post(client, "/import", content=blank)
    assert refused.status_code == 400
    assert "no label" in refused.json()["error"]
    table = "id,label\n0,\n1,grain\n2,\n3,oil\n"
    assert post(client, "/import", content=table).json() == {"imported": 2, "elsewhere": 0}
    assert session.labels == {0: "oil", 1: "grain", 3: "oil"}
    assert 2 not in session.store.labels
    skipped = json.dumps({"text": corpus[0].texts[0], "meta": {"id": "0"}, "answer": "ignore"})
    assert post(client, "/import", content=skipped).json()["imported"] == 0
    assert session.labels[0] == "oil"


def test_a_full_disk_is_told(client, session, monkeypatch):
    import errno
    import os

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    answer = label(client, "0", "oil")
    assert answer.status_code == 507
    assert "free some space" in answer.json()["error"]
    assert session.labels == {}


def test_edited_meanwhile_is_told(client, session):
    label(client, "0", "oil")
    path = session.store.path
    path.write_text(path.read_text().replace(",oil,", ",gas,"))
    assert "edited by another program" in label(client, "1", "oil").json()["notice"]
    assert session.labels == {0: "gas", 1: "oil"}
    assert set(session.classes) == {"oil", "gas"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/labels", {"changes": []}, 422),
        ("POST", "/labels", {"changes": [{"id": "0"}]}, 422),
        ("POST", "/labels", {"changes": [{"id": "0", "label": 3}]}, 422),
        ("POST", "/labels", {"changes": [{"id": "x", "label": "a"}]}, 404),
        ("POST", "/labels", {"changes": [{"id": "0", "label": " a"}]}, 400),
        ("POST", "/labels", {"changes": [{"id": "0", "label": "a" * 201}]}, 422),
        ("POST", "/labels", {"changes": [{"id": "0", "label": "a"}], "how": "by magic"}, 422),
        ("POST", "/labels", {"changes": [{"id": "0", "label": "a"}], "path": "/etc"}, 422),
        ("POST", "/labels", {"changes": [{"id": "0", "label": "a"}], "tab": "t"}, 422),
        ("POST", "/labels", [], 422),
        ("POST", "/classes", {"name": ""}, 422),
        ("POST", "/model", {"path": "/tmp"}, 422),
        ("POST", "/model", {}, 400),
        ("GET", "/next", None, 422),
        ("GET", "/next?tab=a&n=1000", None, 422),
        ("GET", "/next?tab=a&n=x", None, 422),
        ("GET", "/next?tab=a&m=1", None, 422),
        ("GET", "/document?id=77777", None, 404),
        ("GET", "/nothing", None, 404),
        ("DELETE", "/labels", None, 405),
        ("GET", "/export?format=xlsx", None, 422),
    ],
)
def test_requests_of_another_form_are_refused(client, session, method, path, body, status):
    answer = client.request(method, f"/api{path}", json=body)
    assert answer.status_code == status
    assert session.labels == {}


def test_bodies_that_are_not_json(client):
    for content in (b"", b"{", b"\xff", b'{"name": "\\ud800"}', b"[" * 100_000):
        answer = client.post(
            "/api/classes", content=content, headers={"content-type": "application/json"}
        )
        assert answer.status_code == 422
    assert client.post("/api/classes", content=b'{"name": "a"}').status_code == 415
    large = json.dumps({"name": "a" * routes.MAX_JSON_BYTES})
    headers = {"content-type": "application/json"}
    assert client.post("/api/classes", content=large, headers=headers).status_code == 413


# -- who may ask ------------------------------------------------------------------------------


def test_the_token_becomes_a_cookie(session, client_of):
    client = client_of(session, token=False)
    assert client.get("/").status_code == 401
    assert client.get("/api/state").status_code == 401
    assert client.get("/static/style.css").status_code == 401
    assert client.get("/", params={"token": "wrong"}).status_code == 401
    answer = client.get("/progress", params={"token": client.access.token, "a": "1"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/progress?a=1"
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert client.get("/api/state").status_code == 200
    assert (
        client.get("http://127.0.0.1:8765//evil.org/", params={"token": client.access.token})
        .headers["location"]
        .startswith("/evil")
    )


@pytest.mark.parametrize("path", ["/%0D%0AX-Evil%3A%201", "/%5Cevil.org", "/caf%C3%A9", "/a%3Fb"])
def test_the_path_without_the_token_is_one_of_an_address(session, client_of, path):
    client = client_of(session, token=False)
    answer = client.get(f"{path}?token={client.access.token}")
    assert answer.headers["location"] == path


@pytest.mark.parametrize("odd", ['theme={"dark": 1}', "a b=c d", "x", "path=1", 'q="', "é=1"])
def test_cookies_of_other_servers_do_not_hide_ours(session, client_of, odd):
    client = client_of(session, token=False)
    ours = f"{client.access.cookie}={client.access.token}"
    for cookies in (f"{odd}; {ours}", f"{ours}; {odd}"):
        headers = {"cookie": cookies.encode("latin-1")}
        assert client.get("/api/state", headers=headers).status_code == 200
    headers = {"cookie": f"{odd}; {client.access.cookie}=wrong".encode("latin-1")}
    assert client.get("/api/state", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.org:8765"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"host": "127.0.0.1:8765:1"}, 421),
        ({"origin": "http://evil.org"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "localhost:8765"}, 200),
        ({"origin": "http://127.0.0.1:8765"}, 200),
    ],
)
def test_other_hosts_and_sites_are_refused(client, headers, status):
    assert client.get("/api/state", headers=headers).status_code == status


def test_headers_of_every_answer(client):
    for path in ("/", "/api/state", "/static/label.js", "/nothing"):
        headers = client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["..%2f..%2fapi.py", "%2e%2e/api.py", "/etc/passwd", "x.js"])
def test_no_path_of_a_request_is_a_file(client, name):
    assert client.get(f"/static/{name}").status_code == 404


# -- generated requests -----------------------------------------------------------------------


def test_generated_requests_never_break_the_server(running, client_of):
    schemathesis = pytest.importorskip("schemathesis", minversion="4")
    client = client_of(running)
    schema = schemathesis.openapi.from_dict(client.get("/api/schema").json())
    operations = [result.ok() for result in schema.get_all_operations()]
    asked = [one for one in operations if one.path != "/api/model"]  # takes a while, see elsewhere
    assert len(asked) >= 13
    for operation in asked:
        ask(client, operation)
    wait(lambda: running.learned.revision == running._revision)
    assert running._thread.is_alive()


def ask(client, operation):
    """Generated requests for one operation; every answer is one that the schema describes."""
    described = operation.definition.raw["responses"]

    @given(case=operation.as_strategy())
    @settings(
        max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    def answered_as_described(case):
        options = {"params": case.query or None}
        if case.method == "POST":
            options["json"] = case.body
        answer = client.request(case.method, case.path, **options)
        assert str(answer.status_code) in described, (case.path, answer.text)

    answered_as_described()


def test_where_the_server_listens():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OutputError, match="choose another port"):
            listen("127.0.0.1", port)
    with pytest.raises(OutputError, match="port 99999"):
        listen("127.0.0.1", 99999)
    with pytest.raises(InvalidParameterError, match="not an address"):
        listen("nowhere.invalid", 0)
    with listen("127.0.0.1", None) as usual, listen("127.0.0.1", None) as other:
        assert usual.getsockname()[1] != other.getsockname()[1]  # a free one, if it is in use


def test_no_other_program_can_listen_on_the_same_port_on_windows(monkeypatch):
    """There SO_REUSEADDR would allow it, and another option forbids it."""
    stand_in = socket.SO_KEEPALIVE  # an option that this system has
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", stand_in, raising=False)
    with listen("127.0.0.1", 0) as listening:
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0
        assert listening.getsockopt(socket.SOL_SOCKET, stand_in) != 0


def test_small_answers_are_sent_at_once():
    """asyncio turns off the delay of small packets only for sockets with this protocol."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_answers_are_computed_on_one_thread_each():
    """Threads of BLAS that wait for each other would slow down the answers to others."""
    import httpx

    def threads():
        return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    def ask():
        headers = {"authorization": f"Bearer {access.token}"}
        seen.append(httpx.get(f"http://127.0.0.1:{access.port}/api/threads", headers=headers))
        server.should_exit = True

    operation = routes.Operation("/threads", "Threads of BLAS", lambda: sorted(threads()))
    seen = []
    with threadpool_limits(2, user_api="blas"), listen("127.0.0.1", 0) as listening:
        before = threads()
        access = Access(port=listening.getsockname()[1])
        server = server_of(application([operation], "label.html", ["/"], access))
        thread = threading.Thread(target=ask)
        serve(server, listening, thread.start)
        thread.join()
        assert threads() == before
    assert seen[0].json() == [1]


def test_answers_that_compute_take_turns(monkeypatch):
    """As many as there are cores are computed at a time; others do not wait for them."""
    import httpx

    monkeypatch.setattr(routes, "n_cores", lambda: 2)
    now, most, lock, free = [], [], threading.Lock(), threading.Event()

    def compute():
        with lock:
            now.append(1)
            most.append(len(now))
        free.wait(60)
        with lock:
            now.pop()
        return {}

    def release():
        free.set()
        return {}

    operations = [
        routes.Operation("/compute", "Take a core", compute, computes=True),
        routes.Operation("/release", "Let them end", release),
    ]
    access = Access(port=8765)
    app = application(operations, "label.html", ["/"], access)

    async def ask():
        headers = {"authorization": f"Bearer {access.token}"}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8765", headers=headers, timeout=60
        ) as client:
            waiting = [asyncio.ensure_future(client.get("/api/compute")) for _ in range(6)]
            while len(now) < 2:
                await asyncio.sleep(0.01)
            answers = [await client.get("/api/release"), *(await asyncio.gather(*waiting))]
        return [answer.status_code for answer in answers]

    assert asyncio.run(ask()) == [200] * 7
    assert len(most) == 6
    assert max(most) == 2


def test_an_error_of_an_encoder_is_told(client, session, monkeypatch, caplog):
    def fails(*args):
        raise RuntimeError("the encoder is out of memory")

    monkeypatch.setattr(session, "alike", fails)
    answer = client.get("/api/alike", params={"id": "0"})
    assert answer.status_code == 500
    assert answer.json() == {
        "error": "an unexpected error: RuntimeError: the encoder is out of memory"
    }
    assert "GET /alike" in caplog.text
