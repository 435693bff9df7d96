package limit

import (
	"path"
	"strings"
)

// CleanShare returns an NFS share, <server>:/<path>, in normalized form for comparisons: the server in lower case, the path
// without empty elements and dots.
func CleanShare(share string) string {
	server, directory, _ := strings.Cut(share, ":/")
	return strings.ToLower(server) + ":" + path.Clean("/"+directory)
}
