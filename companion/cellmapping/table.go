package cellmapping

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

const (
	// cell0 is the cell with a predefined UUID (nova.objects.CellMapping.CELL0_UUID).
	cell0     = "cell0"
	cell0UUID = "00000000-0000-0000-0000-000000000000"

	cellsHeader = "Name|UUID|Transport URL|Database Connection|Disabled"
	hostsHeader = "Cell Name|Cell UUID|Hostname"
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// rows returns the rows of the table with the header that nova-manage prints, among lines of a log. It returns an error if
// the table is incomplete or if there is more than one: a log that also contains the output of another run is ambiguous. An
// address may contain the column separator.
func rows(output, header string) ([][]string, error) {
	var out [][]string
	const outside, head, body = 0, 1, 2
	at, tables := outside, 0
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		switch border := strings.HasPrefix(line, "+-"); {
		case border && at == body:
			at = outside
			tables++
		case border && at == head:
			at = body
		case !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|"):
		case at == body:
			out = append(out, columns(line))
		case strings.Join(columns(line), "|") == header:
			at = head
		}
	}
	switch {
	case tables > 1:
		return nil, errors.New("the output contains several tables, one of which is outdated")
	case tables == 0 || at != outside:
		return nil, errors.New("the output contains no complete table")
	}
	return out, nil
}

func columns(line string) []string {
	out := strings.Split(strings.Trim(line, "|"), "|")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// parseCells returns the cells with a name in the output of list_cells. The listed addresses are hashed and not stored: a
// password that breaks the syntax of an address is not masked.
func parseCells(output, name string) ([]openstackv1.FoundCell, error) {
	all, err := rows(output, cellsHeader)
	if err != nil {
		return nil, err
	}
	var out []openstackv1.FoundCell
	for _, r := range all {
		last := r[len(r)-1]
		if len(r) < strings.Count(cellsHeader, "|")+1 || !uuid.MatchString(r[1]) || last != "True" && last != "False" {
			return nil, errors.New("a row of the table in the output is not a cell")
		}
		if r[0] == name || name == cell0 && r[1] == cell0UUID {
			out = append(out, openstackv1.FoundCell{UUID: r[1], Disabled: last == "True", Hash: names.Hash(hashDigits, r...)})
		}
	}
	return out, nil
}

// parseHosts returns the sorted hosts of a cell in the output of list_hosts.
func parseHosts(output, id string) ([]string, error) {
	all, err := rows(output, hostsHeader)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range all {
		if len(r) != strings.Count(hostsHeader, "|")+1 || r[1] != id || r[2] == "" {
			return nil, fmt.Errorf("a row of the table in the output is not a host of cell %s", id)
		}
		out = append(out, r[2])
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
