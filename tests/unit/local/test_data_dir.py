import json

import pytest

from local.data_dir import DataDir, DataDirError


def test_a_data_folder_serves_one_runtime_at_a_time(tmp_path):
    first = DataDir(tmp_path / "d")
    with pytest.raises(DataDirError, match="Another runtime"):
        DataDir(tmp_path / "d")
    first.write_endpoints({"api": "http://x"})
    assert json.loads((tmp_path / "d/endpoints.json").read_bytes()) == {"api": "http://x"}
    first.close()
    assert not (tmp_path / "d/endpoints.json").exists()
    DataDir(tmp_path / "d").close()


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
