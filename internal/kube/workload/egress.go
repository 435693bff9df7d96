package workload

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

// schemePorts contains the default port of each scheme (https://www.iana.org/assignments/service-names-port-numbers).
var schemePorts = map[string]int32{"http": 80, "https": 443, "ldap": 389, "ldaps": 636}

// PortOf returns the port of an address, or the default port of its scheme. The error is a sentence about the address.
func PortOf(address string) (int32, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return 0, fmt.Errorf("%q is not an address; give scheme://host:port", address)
	}
	if u.Port() == "" {
		if port, ok := schemePorts[u.Scheme]; ok {
			return port, nil
		}
		return 0, fmt.Errorf("%q has no port, and its scheme has no default; use scheme://host:port", address)
	}
	port, err := strconv.ParseInt(u.Port(), 10, 32)
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("there is no port %s; give one from 1 to 65535", u.Port())
	}
	return int32(port), nil
}

// ExternalEgress returns egress to external addresses: any address, restricted to their sorted ports.
func ExternalEgress(addresses ...string) (Flow, error) {
	f := Flow{Anywhere: true}
	var errs []error
	for _, a := range addresses {
		port, err := PortOf(a)
		errs = append(errs, err)
		if !slices.Contains(f.Ports, port) {
			f.Ports = append(f.Ports, port)
		}
	}
	slices.Sort(f.Ports)
	return f, errors.Join(errs...)
}
