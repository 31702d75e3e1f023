module gridbuf/bench/allocators

go 1.26

require (
	github.com/apache/arrow-go/v18 v18.8.0
	gridbuf v0.0.0
)

require golang.org/x/sys v0.47.0 // indirect

replace gridbuf => ../..
