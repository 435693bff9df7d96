package hypervisor

import (
	"fmt"
	"net/http"
	"path"
	"strings"
)

// Networks is a Neutron that has nothing: every list is empty. Nova asks for ports and security groups of virtual machines that have none,
// too, and fails where the catalog has no Neutron.
func Networks(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(w, "there is nothing to change", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{%q: []}`, strings.ReplaceAll(path.Base(r.URL.Path), "-", "_")) //nolint:gosec // JSON, quoted
}
