package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPortOf(t *testing.T) {
	for address, want := range map[string]int32{
		"https://a.example.com/x": 443, "http://a": 80, "ldap://a": 389, "ldaps://10.0.0.1": 636,
		"ldaps://dc:3269": 3269, "https://[::1]:8443/a": 8443, "ldap://[fd00::1]": 389, "s3://a:9000": 9000, "s3://a:1": 1, "s3://a:65535": 65535,
		"": 0, "a:80": 0, "ldaps://": 0, "s3://a": 0, "https://a:0": 0, "https://a:65536": 0, "https://a:99999999999": 0, "ldap://a:b": 0,
	} {
		got, err := PortOf(address)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q leads to port %d (%v), want %d", address, got, err, want)
		}
	}
}

func TestHTTPSPort(t *testing.T) {
	for endpoint, want := range map[string]int32{"s3": 443, "s3:9000": 9000, "[fd00::1]": 443, "[fd00::1]:9000": 9000, "s3:x": 0, "s3:70000": 0, "": 0} {
		got, err := HTTPSPort(endpoint)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q has port %d (%v), want %d", endpoint, got, err, want)
		}
	}
}

func TestExternalEgress(t *testing.T) {
	got, err := ExternalEgress("https://b:8443", "https://a", "ldaps://c", "https://d")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Flow{Anywhere: true, Ports: []int32{443, 636, 8443}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := ExternalEgress("https://a", "nowhere"); err == nil {
		t.Error("no error about an address that is none")
	}
}
