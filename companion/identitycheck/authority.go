package identitycheck

import (
	"encoding/pem"
	"strings"
)

// authorityLimit is the longest text that the status takes.
const authorityLimit = 65536

// certificates are the certificates in PEM, and nothing else that may stand between them: what is told is read by everybody. None are
// told if there are more than the status takes.
func certificates(in []byte) string {
	var out strings.Builder
	for {
		var block *pem.Block
		if block, in = pem.Decode(in); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
		}
	}
	if out.Len() > authorityLimit {
		return ""
	}
	return out.String()
}
