from local.spool import Spool


def test_a_spool_gives_back_what_was_not_finished_in_order(tmp_path):
    spool = Spool(tmp_path)
    entries = [spool.add({"n": n}) for n in range(5)]
    spool.remove(entries[1])
    spool.remove(entries[1])
    assert [e.content["n"] for e in Spool(tmp_path).load()] == [0, 2, 3, 4]


def test_a_spool_sets_aside_what_it_cannot_read(tmp_path, caplog):
    (tmp_path / "1.json").write_text("{")
    assert Spool(tmp_path).load() == []
    assert [p.name for p in tmp_path.iterdir()] == ["1.unreadable"]
    assert "set aside" in caplog.text
