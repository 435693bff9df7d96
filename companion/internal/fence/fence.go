// Package fence powers nodes off, and reads back whether their power is off. Each kind of management controller has a file.
package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Power is the power state of a node.
type Power string

const (
	// On means that the node can run programs.
	On Power = "On"
	// Off means that the node runs no programs. It is the only state that proves this.
	Off Power = "Off"
	// Changing means that the node is between On and Off, or in another state.
	Changing Power = "Changing"
)

// State is the state that a management controller reports.
type State struct {
	Power Power
	// SystemUUID identifies the system whose power the controller switches; "" if the controller does not report it.
	SystemUUID string
}

// A Device is the management controller of a node.
type Device interface {
	// State reads the power state.
	State(ctx context.Context) (State, error)
	// PowerOff requests that the power is switched off without a shutdown. It does not wait, and can be repeated. It reads the state, and
	// calls confirm with it directly before the request, which is not sent if confirm returns an error.
	PowerOff(ctx context.Context, confirm func(State) error) error
}

// CheckIdentity returns an error if the controller belongs to another system than the node with the given UUID. Without this check, a wrong
// address would power off a healthy node, and prove nothing about the failed one.
func CheckIdentity(reported, expected string) error {
	switch {
	case isPlaceholder(reported) || isPlaceholder(expected):
		return fmt.Errorf("the UUID %s is a placeholder of the firmware, which other systems have, too: set a unique UUID in the firmware",
			cmp.Or(reported, expected))
	case expected == "":
		return errors.New("the UUID of the node is unknown")
	case reported == "":
		return fmt.Errorf("the controller does not report the UUID of its system, and the node has %s", expected)
	case IsSameSystem(reported, expected):
		return nil
	}
	return fmt.Errorf("the controller belongs to system %s, and the node is %s: correct redfish.url", reported, expected)
}

// IsSameSystem reports whether two UUIDs are equal, in any order of the bytes.
func IsSameSystem(a, b string) bool {
	return strings.EqualFold(a, b) || strings.EqualFold(swap(a), b)
}

// isPlaceholder reports whether a UUID is a default of firmware, and identifies no system.
func isPlaceholder(uuid string) bool {
	return slices.ContainsFunc([]string{
		"03000200-0400-0500-0006-000700080009", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
	}, func(p string) bool { return IsSameSystem(p, uuid) })
}

// swap returns a UUID with the other byte order of its first three fields. Firmware and kernel disagree about the order: SMBIOS stores them
// in little endian since version 2.6 (DSP0134, 7.2.1).
func swap(uuid string) string {
	fields := strings.Split(uuid, "-")
	const reordered = 3
	if len(fields) < reordered {
		return uuid
	}
	for i := range reordered {
		var out strings.Builder
		for end := len(fields[i]); end > 1; end -= 2 {
			out.WriteString(fields[i][end-2 : end])
		}
		fields[i] = out.String()
	}
	return strings.Join(fields, "-")
}
