package raftcluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// members are fake OVSDB servers by pod name. A missing one refuses connections.
type members struct {
	t *testing.T
	// identity is the certificate of all members and of their client; authority is its issuer.
	identity  tls.Certificate
	authority []byte

	// nodes is the response of all members to a query for nodes: a result for each table.
	nodes string

	mu           sync.Mutex
	rows         map[string]string // the response of each member: the rows of its table Database, in JSON
	requestCount int
	// refuse returns the connection error of a missing member.
	refuse func() error
}

func newMembers(t *testing.T) *members {
	t.Helper()
	m := &members{t: t, rows: map[string]string{}, refuse: func() error { return errors.New("connection refused") }}
	m.identity, m.authority = signed(t, time.Now().Add(time.Hour))
	return m
}

// expire replaces the certificate of the members by an expired one.
func (m *members) expire() {
	m.t.Helper()
	m.identity, _ = signed(m.t, time.Unix(1, 0))
}

// signed returns a self-signed certificate.
func signed(t *testing.T, until time.Time) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"*." + domain}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

// secret returns the Secret with the client certificate.
func (m *members) secret() *corev1.Secret {
	key, err := x509.MarshalPKCS8PrivateKey(m.identity.PrivateKey)
	if err != nil {
		m.t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "client"}, Data: map[string][]byte{
		"tls.crt": m.authority, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), "ca.crt": m.authority,
	}}
}

// setReply sets the response of a member.
func (m *members) setReply(pod, rows string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[pod] = rows
}

func (m *members) dial(_ context.Context, _, address string) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requestCount++
	pod, _, _ := strings.Cut(address, ".")
	rows, ok := m.rows[pod]
	if !ok {
		return nil, m.refuse()
	}
	if address != pod+"."+domain+":6641" {
		m.t.Errorf("unexpected request to %s", address)
	}
	// A pipe has no buffer: rejecting a certificate while the other side still writes would block forever.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	here, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return nil, err
	}
	existing, err := listener.Accept()
	if err != nil {
		return nil, err
	}
	go m.serve(existing, rows)
	return here, nil
}

func (m *members) serve(conn net.Conn, rows string) {
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(m.authority)
	secure := tls.Server(conn, &tls.Config{
		Certificates: []tls.Certificate{m.identity}, ClientCAs: authority, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12,
	})
	defer conn.Close()
	var question struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params []any           `json:"params"`
	}
	if err := json.NewDecoder(secure).Decode(&question); err != nil {
		return
	}
	if len(question.Params) > 0 && question.Params[0] == "OVN_Southbound" {
		fmt.Fprintf(secure, `{"id":%s,"result":%s,"error":null}`, question.ID, m.nodes)
		_, _ = io.Copy(io.Discard, secure)
		return
	}
	if question.Method != "transact" || question.Params[0] != "_Server" || !strings.Contains(fmt.Sprint(question.Params[1]),
		"[[name == OVN_") {
		m.t.Errorf("unexpected request %+v", question)
	}
	// A server may send an echo request before it responds.
	fmt.Fprintf(secure, `{"id":"echo","method":"echo","params":[]}{"id":%s,"result":[%s],"error":null}`, question.ID, rows)
	_, _ = io.Copy(io.Discard, secure) // until its client closes the connection
}

// serving returns the response of a member of a cluster.
func serving(cluster, server string, leader, connected bool, index int) string {
	return fmt.Sprintf(`{"rows":[{"model":"clustered","cid":%s,"sid":["uuid",%q],"leader":%t,"connected":%t,"index":%d}]}`,
		map[bool]string{true: fmt.Sprintf(`["uuid",%q]`, cluster), false: `["set",[]]`}[cluster != ""], server, leader, connected, index)
}
