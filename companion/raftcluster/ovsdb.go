package raftcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/steady"
)

// database is what a server says of one of its databases. https://docs.openvswitch.org/en/latest/ref/ovsdb-server.5/
type database struct {
	cluster, server string
	leader          bool
	// connected: it is in touch with a majority. One that is joining is not, and has the cluster's ID all the same if its file was made
	// with it (raft_is_connected() in ovsdb/raft.c, and --cid of ovsdb-tool(1)).
	connected bool
	index     int64
}

// answer is one of JSON-RPC, or a question of the server's. https://www.rfc-editor.org/rfc/rfc7047#section-4
type answer struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Result []json.RawMessage `json:"result"`
	Error  json.RawMessage   `json:"error"`
}

// databaseRow is one of the table Database.
type databaseRow struct {
	Model     string          `json:"model"`
	Leader    bool            `json:"leader"`
	Connected bool            `json:"connected"`
	CID       json.RawMessage `json:"cid"`
	SID       json.RawMessage `json:"sid"`
	Index     json.RawMessage `json:"index"`
}

// ask asks a server for one of its databases, by a connection that it closes. Nil: the server has none of that name.
func ask(ctx context.Context, conn net.Conn, name string) (*database, error) {
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
		return nil, fmt.Errorf("cannot read its answer: %w", err)
	}
	if len(result.Rows) == 0 {
		return nil, nil //nolint:nilnil // it has none
	}
	r := result.Rows[0]
	if r.Model != "clustered" {
		return nil, fmt.Errorf("its database is not clustered, but %s", r.Model)
	}
	out := &database{cluster: uuid(r.CID), server: uuid(r.SID), leader: r.Leader, connected: r.Connected}
	_ = json.Unmarshal(r.Index, &out.index) // an empty set, as long as there is none
	return out, nil
}

// transact runs operations in one of a server's databases, by a connection that it closes, and gives the result of each.
func transact(ctx context.Context, conn net.Conn, name string, operations ...any) ([]json.RawMessage, error) {
	defer conn.Close() //nolint:errcheck // it was read
	if at, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(at); err != nil {
			return nil, err
		}
	}
	question := map[string]any{"id": 1, "method": "transact", "params": append([]any{name}, operations...)}
	if err := json.NewEncoder(conn).Encode(question); err != nil {
		return nil, fmt.Errorf("cannot ask: %s", steady.StableMessage(err))
	}
	for read := json.NewDecoder(conn); ; {
		var a answer
		if err := read.Decode(&a); err != nil {
			return nil, fmt.Errorf("cannot read the answer: %s", steady.StableMessage(err))
		}
		if a.Method != "" { // It asks whether we are there.
			continue
		}
		return a.results(len(operations))
	}
}

// results are those of so many operations. An error of any of them is one of all.
func (a answer) results(operations int) ([]json.RawMessage, error) {
	if len(a.Error) > 0 && string(a.Error) != "null" {
		return nil, fmt.Errorf("it answers the error %s", a.Error)
	}
	for _, r := range a.Result {
		var failed struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(r, &failed); err == nil && failed.Error != "" {
			return nil, fmt.Errorf("it answers the error %s", failed.Error)
		}
	}
	switch {
	case len(a.Result) == 0:
		return nil, errors.New("its answer is empty")
	case len(a.Result) < operations:
		return nil, errors.New("its answer is not complete")
	}
	return a.Result, nil
}

// uuid is the text of ["uuid", text]; empty for an empty set.
func uuid(value json.RawMessage) string {
	var pair []json.RawMessage
	var kind, text string
	if json.Unmarshal(value, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &kind) != nil || kind != "uuid" {
		return ""
	}
	_ = json.Unmarshal(pair[1], &text) // empty, where it is none
	return text
}

// failureThreshold is how long a member may take to answer.
const failureThreshold = 5 * time.Second
