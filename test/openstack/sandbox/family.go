//go:build linux

package sandbox

import (
	"fmt"
	"net/netip"
	"os"
)

// FamilyEnv is the environment variable that selects the address family of a sandbox: IPv4, the default, or IPv6.
const FamilyEnv = "COBALTCORE_IP_FAMILY"

// IPv6 reports whether the sandbox and its containers have addresses of IPv6 only, apart from loopback addresses.
var IPv6 = os.Getenv(FamilyEnv) == "IPv6"

// bits returns the prefix length of the network of all containers.
func bits() string {
	if IPv6 {
		return "64"
	}
	return "16"
}

// Gateway returns the address of the machine, the first one of the network of all containers.
func Gateway() string {
	if IPv6 {
		return "fd00:244::1"
	}
	return "10.244.0.1"
}

// Address returns an address in the network of all containers, by its number, beginning with 2.
func Address(number int32) string {
	if IPv6 {
		return fmt.Sprintf("fd00:244::%x", number)
	}
	return fmt.Sprintf("10.244.%d.%d", number/250, number%250+2)
}

// hardwareAddress returns the hardware address for an address. A pod that replaces another one with the same address is reachable at once:
// with another hardware address, neighbors would use the previous one until their caches expire.
func hardwareAddress(address string) (string, error) {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return "", fmt.Errorf("cannot give a container an address: %w", err)
	}
	b := parsed.AsSlice()
	b = b[len(b)-4:]
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3]), nil
}

// add returns the arguments of ip that add an address to an interface. An address of IPv6 can be used at once, without a search for
// duplicates.
func add(address, prefix, link string) []string {
	out := []string{"addr", "add", address + "/" + prefix, "dev", link}
	if IPv6 {
		out = append(out, "nodad")
	}
	return out
}
