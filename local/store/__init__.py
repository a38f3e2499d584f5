"""The embedded store: an S3 client whose objects are plain files of this machine, in this process.

client.py has the methods of a botocore client that the service calls, with the answers and errors of S3. folder.py
keeps one bucket, paths.py names its files, index.py its keys in order. addresses.py lets others read or write
single objects by HTTP. One process has the folder (data_dir.py).
"""
