package cellmapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// stored is a cell in Nova's database, with address templates.
type stored struct {
	uuid, name, database, transport string
	disabled                        bool
}

// nova simulates nova-manage cell_v2 of 2025.1 to 2026.2, and registered hypervisors.
type nova struct {
	createdCount int
	cells        []stored
	// hosts are mappings: host to the UUID of its cell.
	hosts map[string]string
	// registered are hypervisors: host to the database of its cell.
	registered map[string]string
	// versions of hypervisors of other releases.
	versions map[string]int32
}

// newest is the version of a hypervisor of this release.
const newest = 74

// services returns the records of all hypervisors, as listed by the API.
func (n *nova) services() []compute.Service {
	var out []compute.Service
	for host := range n.registered {
		out = append(out, compute.Service{ID: "id-" + host, Binary: compute.Compute, Host: host, Up: true})
	}
	slices.SortFunc(out, func(a, b compute.Service) int { return strings.Compare(a.Host, b.Host) })
	return out
}

// register starts a hypervisor in a cell.
func (n *nova) register(host, cell string) {
	if n.registered == nil {
		n.registered = map[string]string{}
	}
	n.registered[host] = "nova_" + cell
}

// remove removes a hypervisor like DELETE /os-services/{id}, with its mapping.
func (n *nova) remove(host string) {
	delete(n.registered, host)
	delete(n.hosts, host)
}

// filled returns an address with the credentials of the reader.
func filled(template string) string {
	return strings.NewReplacer("{username}", "nova", "{password}", "hunter2").Replace(template)
}

func flags(command []string) map[string]string {
	out := map[string]string{}
	for i := 3; i < len(command); i++ {
		if i+1 < len(command) && !strings.HasPrefix(command[i+1], "--") {
			out[command[i]] = command[i+1]
			i++
			continue
		}
		out[command[i]] = "true"
	}
	return out
}

// about returns the cell of a command.
func (n *nova) about(command []string) string {
	f := flags(command)
	for _, c := range n.cells {
		if c.uuid == f["--cell_uuid"] {
			return " " + c.name
		}
	}
	return strings.TrimSuffix(" "+f["--name"]+f["--cell_uuid"], " ")
}

// manage executes a command.
func (n *nova) manage(command []string) (code int32, output string) {
	f := flags(command)
	at := slices.IndexFunc(n.cells, func(c stored) bool { return c.uuid == f["--cell_uuid"] })
	switch command[2] {
	case "list_cells":
		return 0, n.listCells()
	case "map_cell0":
		if slices.ContainsFunc(n.cells, func(c stored) bool { return c.uuid == cell0UUID }) {
			return 0, "Cell0 is already setup\n"
		}
		n.cells = append(n.cells, stored{uuid: cell0UUID, name: cell0, database: f["--database_connection"], transport: "none:///"})
		return 0, ""
	case "create_cell":
		created := stored{name: f["--name"], database: f["--database_connection"], transport: f["--transport-url"],
			disabled: f["--disabled"] != ""}
		if code, text := n.conflictingCell(created, ""); code != 0 {
			return 2, text
		}
		n.createdCount++
		created.uuid = fmt.Sprintf("00000000-0000-4000-8000-%012d", n.createdCount)
		n.cells = append(n.cells, created)
		return 0, created.uuid + "\n"
	case "update_cell":
		return n.update(at, f)
	case "discover_hosts":
		if at < 0 {
			return 255, "An error has occurred:\nnova.exception.CellMappingNotFound\n"
		}
		n.discover(n.cells[at])
		return 0, ""
	case "list_hosts":
		if at < 0 {
			return 1, "Cell with uuid " + f["--cell_uuid"] + " was not found.\n"
		}
		return 0, n.listHosts(n.cells[at]) + fmt.Sprintf("%s %d\n", oldestVersionPrefix, n.oldest(n.cells[at]))
	}
	return 127, "unknown"
}

// conflictingCell compares the stored addresses, with credentials, with the given templates, so that they are never equal.
func (n *nova) conflictingCell(c stored, except string) (int32, string) {
	for _, other := range n.cells {
		if other.uuid != except && (filled(other.database) == c.database || filled(other.transport) == c.transport) {
			return 3, "The specified transport_url and/or database_connection combination already exists for another cell with uuid " +
				other.uuid + ".\n"
		}
	}
	return 0, ""
}

func (n *nova) update(at int, f map[string]string) (code int32, output string) {
	if at < 0 {
		return 1, "Cell with uuid " + f["--cell_uuid"] + " was not found.\n"
	}
	c := n.cells[at]
	// Missing options are read from the configuration.
	c.database, c.transport = "mysql+pymysql://nova:hunter2@mariadb:3306/nova_cell0", "rabbit://nova:hunter2@rabbitmq:5671/nova"
	for flag, field := range map[string]*string{"--name": &c.name, "--database_connection": &c.database, "--transport-url": &c.transport} {
		if f[flag] != "" {
			*field = f[flag]
		}
	}
	if code, text := n.conflictingCell(c, c.uuid); code != 0 {
		return code, text
	}
	switch {
	case f["--disable"] != "" && f["--enable"] != "":
		return 4, "Cell cannot be disabled and enabled at the same time.\n"
	case (f["--disable"] != "" || f["--enable"] != "") && c.uuid == cell0UUID:
		return 5, "Cell0 cannot be disabled.\n"
	}
	c.disabled = (c.disabled || f["--disable"] != "") && f["--enable"] == ""
	n.cells[at] = c
	return 0, ""
}

func (n *nova) discover(c stored) {
	if n.hosts == nil {
		n.hosts = map[string]string{}
	}
	for host, database := range n.registered {
		if _, mapped := n.hosts[host]; !mapped && strings.HasSuffix(c.database, "/"+database) {
			n.hosts[host] = c.uuid
		}
	}
}

// oldest returns the version of the oldest registered hypervisor in a cell; 0 if none exists.
func (n *nova) oldest(c stored) int32 {
	var out int32
	for host, database := range n.registered {
		if !strings.HasSuffix(c.database, "/"+database) {
			continue
		}
		version, is := n.versions[host]
		if !is {
			version = newest
		}
		if out == 0 || version < out {
			out = version
		}
	}
	return out
}

func table(header string, rows [][]string) string {
	border := "+------+\n"
	line := func(columns []string) string { return "| " + strings.Join(columns, " |  ") + " |\n" }
	out := []string{border, line(strings.Split(header, "|")), border}
	for _, r := range rows {
		out = append(out, line(r))
	}
	return strings.Join(append(out, border), "")
}

func (n *nova) listCells() string {
	var rows [][]string
	for _, c := range n.cells {
		masked := strings.NewReplacer("hunter2", "****")
		rows = append(rows, []string{
			c.name, c.uuid, masked.Replace(filled(c.transport)), masked.Replace(filled(c.database)),
			map[bool]string{true: "True", false: "False"}[c.disabled],
		})
	}
	return table(cellsHeader, rows)
}

func (n *nova) listHosts(c stored) string {
	var rows [][]string
	for host, id := range n.hosts {
		if id == c.uuid {
			rows = append(rows, []string{c.name, c.uuid, host})
		}
	}
	return table(hostsHeader, rows)
}
