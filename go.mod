module gridbuf

go 1.26
