package raftcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/stableerr"
)

// database is the state of a database of a server. https://docs.openvswitch.org/en/latest/ref/ovsdb-server.5/
type database struct {
	cluster, server string
	leader          bool
	// connected is set if the server is connected to a majority. A joining server is not, but has the ID of the cluster if
	// its file was created with it (raft_is_connected() in ovsdb/raft.c, and --cid of ovsdb-tool(1)).
	connected bool
	index     int64
}

// answer is a JSON-RPC response, or a request of the server. https://www.rfc-editor.org/rfc/rfc7047#section-4
type answer struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Result []json.RawMessage `json:"result"`
	Error  json.RawMessage   `json:"error"`
}

// databaseRow is a row of the table Database.
type databaseRow struct {
	Model     string          `json:"model"`
	Leader    bool            `json:"leader"`
	Connected bool            `json:"connected"`
	CID       json.RawMessage `json:"cid"`
	SID       json.RawMessage `json:"sid"`
	Index     json.RawMessage `json:"index"`
}

// readDatabase reads the state of a database of a server and closes the connection. It returns nil if the server does not have the
// database.
func readDatabase(ctx context.Context, conn net.Conn, name string) (*database, error) {
	results, err := transact(ctx, conn, "_Server", map[string]any{
		"op": "select", "table": "Database", "where": []any{[]any{"name", "==", name}},
		"columns": []string{"model", "leader", "connected", "cid", "sid", "index"},
	})
	if err != nil {
		return nil, err
	}
	var result struct {
		Rows []databaseRow `json:"rows"`
	}
	if err := json.Unmarshal(results[0], &result); err != nil {
		return nil, fmt.Errorf("cannot read the response: %w", err)
	}
	if len(result.Rows) == 0 {
		return nil, nil //nolint:nilnil // the server does not have the database
	}
	r := result.Rows[0]
	if r.Model != "clustered" {
		return nil, fmt.Errorf("its database is not clustered, but %s", r.Model)
	}
	out := &database{cluster: uuid(r.CID), server: uuid(r.SID), leader: r.Leader, connected: r.Connected}
	_ = json.Unmarshal(r.Index, &out.index) // an empty set while there is no index
	return out, nil
}

// transact runs operations in a database of a server, closes the connection, and returns the result of each operation.
func transact(ctx context.Context, conn net.Conn, name string, operations ...any) ([]json.RawMessage, error) {
	defer conn.Close() //nolint:errcheck // it was read
	if at, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(at); err != nil {
			return nil, err
		}
	}
	question := map[string]any{"id": 1, "method": "transact", "params": append([]any{name}, operations...)}
	if err := json.NewEncoder(conn).Encode(question); err != nil {
		return nil, fmt.Errorf("query failed: %s", stableerr.StableMessage(err))
	}
	for read := json.NewDecoder(conn); ; {
		var a answer
		if err := read.Decode(&a); err != nil {
			return nil, fmt.Errorf("cannot read the response: %s", stableerr.StableMessage(err))
		}
		if a.Method != "" { // An echo request of the server.
			continue
		}
		return a.results(len(operations))
	}
}

// results returns the result of each operation. An error of one operation is an error of the whole response.
func (a answer) results(operations int) ([]json.RawMessage, error) {
	if len(a.Error) > 0 && string(a.Error) != "null" {
		return nil, fmt.Errorf("server returned error %s", a.Error)
	}
	for _, r := range a.Result {
		var failed struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(r, &failed); err == nil && failed.Error != "" {
			return nil, fmt.Errorf("server returned error %s", failed.Error)
		}
	}
	switch {
	case len(a.Result) == 0:
		return nil, errors.New("the response is empty")
	case len(a.Result) < operations:
		return nil, errors.New("the response is incomplete")
	}
	return a.Result, nil
}

// uuid returns the text of ["uuid", text]; "" for an empty set.
func uuid(value json.RawMessage) string {
	var pair []json.RawMessage
	var kind, text string
	if json.Unmarshal(value, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &kind) != nil || kind != "uuid" {
		return ""
	}
	_ = json.Unmarshal(pair[1], &text) // empty if it is not a string
	return text
}

// failureThreshold is the timeout for the response of a member.
const failureThreshold = 5 * time.Second
