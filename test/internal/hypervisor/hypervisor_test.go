package hypervisor

import (
	"net"
	"strings"
	"testing"
)

// TestViewersReadNameOfScreen checks that viewers of a screen see its name.
func TestViewersReadNameOfScreen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go Screens(l, "cell1")
	for range 2 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if name, err := Look(conn); name != "cell1" || err != nil {
			t.Errorf("got %q, %v", name, err)
		}
		conn.Close()
	}
}

// TestFiles checks that a dollar in a password is not parsed as a variable by oslo.config, and that no character of a
// password terminates the address.
func TestFiles(t *testing.T) {
	h := Hypervisor{Host: "compute-cell1", ControlPlane: "cloud", Queue: QueueURL("cloud", "cell1", "user", "a$b@c/d"), CredentialSecret: "e$f"}
	conf := h.files()["nova.conf"]
	for _, want := range []string{
		"transport_url = rabbit://user:a$$b%40c%2Fd@rabbitmq.cloud.svc:5671/nova_cell1?",
		"application_credential_secret = e$$f\n", "auth_url = https://keystone.cloud.svc:5000/v3\n",
	} {
		if !strings.Contains(conf, want) {
			t.Errorf("there is no %q in\n%s", want, conf)
		}
	}
}
