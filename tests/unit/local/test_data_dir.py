import json
import os

import pytest

from local.data_dir import DataDir, DataDirError


def test_a_data_folder_serves_one_runtime_at_a_time(tmp_path):
    (tmp_path / "d").mkdir(mode=0o700)
    (tmp_path / "d/runtime.lock").write_text("4711\n")  # of a former version
    first = DataDir(tmp_path / "d")
    with pytest.raises(DataDirError, match="Another runtime"):
        DataDir(tmp_path / "d")
    first.write_endpoints({"api": "http://x"})
    told = {"api": "http://x", "pid": os.getpid(), "instance": first.instance}
    assert json.loads((tmp_path / "d/endpoints.json").read_bytes()) == told
    first.close()
    assert not (tmp_path / "d/endpoints.json").exists()
    DataDir(tmp_path / "d").close()


def test_a_file_asks_one_start_to_end_and_the_next_start_does_not_heed_it(tmp_path):
    first = DataDir(tmp_path)
    (tmp_path / "stop").write_text("0" * 32)
    assert not first.is_to_stop()
    (tmp_path / "stop").write_text(f"{first.instance}\n")
    assert first.is_to_stop()
    (tmp_path / "stop").write_text("")  # from a program that was told no id yet
    assert first.is_to_stop()
    first.close()
    (tmp_path / "stop").write_text(first.instance)
    second = DataDir(tmp_path)
    assert not second.is_to_stop()
    assert not (tmp_path / "stop").exists()
    second.close()


def test_the_admin_key_is_made_once_and_private(tmp_path):
    data = DataDir(tmp_path)
    key = data.admin_key()
    assert len(key) >= 32
    assert data.admin_key() == key == data.admin_key_file.read_text().strip()
    assert data.admin_key_file.stat().st_mode & 0o077 == 0
    assert tmp_path.stat().st_mode & 0o077 == 0
    data.close()


def test_a_data_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirError, match="cannot be used"):
        DataDir(tmp_path / "file")


def test_a_folder_of_an_earlier_runtime_that_others_could_read_is_made_private(tmp_path):
    root = tmp_path / "d"
    for name in ("", "s3", "queue", "logs"):
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name).chmod(0o755)
    DataDir(root).close()
    assert {folder.stat().st_mode & 0o777 for folder in (root, *(f for f in root.iterdir() if f.is_dir()))} == {0o700}


def test_a_folder_that_others_can_read_and_that_holds_other_things_is_left_as_it_is(tmp_path):
    (tmp_path / "d" / "thesis").mkdir(parents=True)
    (tmp_path / "d").chmod(0o755)
    with pytest.raises(DataDirError, match="holds things that are not from a runtime"):
        DataDir(tmp_path / "d")
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o755
    (tmp_path / "d").chmod(0o700)
    DataDir(tmp_path / "d").close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("name", ["", "s3"])
def test_a_folder_of_another_user_is_refused(tmp_path, name):
    (tmp_path / "d" / "s3").mkdir(parents=True)
    os.chown(tmp_path / "d" / name, 12_345, 12_345)
    with pytest.raises(DataDirError, match="belongs to another user"):
        DataDir(tmp_path / "d")
