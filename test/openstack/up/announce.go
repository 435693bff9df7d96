//go:build linux

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	gophercloud "github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// bootScript boots a server, and horizonScript explains how a browser gets to the dashboard, and gives it access.
var (
	//go:embed boot.sh
	bootScript string
	//go:embed horizon.sh
	horizonScript string
)

// outside are three numbers of the addresses of the network that servers are reached in, of which this machine has the
// first (https://datatracker.ietf.org/doc/html/rfc5737).
const outside = "203.0.113"

// announce writes the files for users, and returns a description of them.
func (o *options) announce(ctx context.Context, c *clouds.Cloud, claims claims, guest install.Guest) (ready string, err error) {
	data, err := c.Operators.Secret(ctx, c.Namespace, "keystone-clouds")
	if err != nil {
		return "", err
	}
	ca := filepath.Join(o.dir, caFile)
	// The Secret has the CA next to the clouds.yaml, where K-ORC finds it; a user's clouds.yaml has to name the file.
	clouds := strings.Replace(string(data["clouds.yaml"]), "    auth_type:", "    cacert: "+ca+"\n    auth_type:", 1)
	pid, err := os.ReadFile(filepath.Join(o.dir, pidFile))
	if err != nil {
		return "", err
	}
	venv, err := c.Venv()
	if err != nil {
		return "", err
	}
	enter := fmt.Sprintf(`#!/bin/sh
# Runs a command in the cloud's network, with the release's own client in PATH.
OS_CLIENT_CONFIG_FILE=%q OS_CLOUD=admin PATH=%q:$PATH
export OS_CLIENT_CONFIG_FILE OS_CLOUD PATH
exec nsenter --target %s --mount --net --pid --wdns="$PWD" -- "$@"
`, filepath.Join(o.dir, cloudsFile), filepath.Join(venv, "bin"), pid)
	ready = fmt.Sprintf("  %s openstack token issue\n", filepath.Join(o.dir, enterFile))
	if c.Pool() != nil {
		more, err := o.bootable(ctx, c, claims.stack, guest)
		if err != nil {
			return "", err
		}
		ready += more
	}
	if c.Dashboard() != "" {
		if err := o.browsable(ctx, c); err != nil {
			return "", err
		}
		ready += fmt.Sprintf("  %s\n", filepath.Join(o.dir, horizonFile))
	}
	return ready, errors.Join(
		os.WriteFile(ca, data["cacert"], 0o644),
		os.WriteFile(filepath.Join(o.dir, claimFile), claims.plane, 0o644),
		os.WriteFile(filepath.Join(o.dir, cloudsFile), []byte(clouds), 0o600),
		os.WriteFile(filepath.Join(o.dir, enterFile), []byte(enter), 0o755),
	)
}

// bootable waits until the cloud has its hypervisors, connects this machine to the external network, writes the script
// that boots a server, and returns its description.
func (o *options) bootable(ctx context.Context, c *clouds.Cloud, stack []byte, guest install.Guest) (string, error) {
	physical, link := c.Pool().Outside()
	if link == "" {
		return "  no network leads outside: the claim of hypervisors has no bridgeMappings with an interface\n", nil
	}
	provider, ends, err := c.Operators.Login(ctx, c.Namespace, "keystone-clouds", "admin")
	if err != nil {
		return "", err
	}
	compute, err := gophercloud.NewComputeV2(provider, ends)
	if err != nil {
		return "", err
	}
	if err := c.WaitForHypervisors(ctx, compute); err != nil {
		return "", err
	}
	boot, template := filepath.Join(o.dir, bootFile), ""
	if stack != nil {
		template = filepath.Join(o.dir, stackFile)
		if err := os.WriteFile(template, stack, 0o644); err != nil {
			return "", err
		}
	}
	head := fmt.Sprintf("#!/bin/sh\nexport KERNEL=%q INITRD=%q OUTSIDE=%s PHYSICAL=%q STACK=%q\n",
		guest.Kernel, guest.Initrd, outside, physical, template)
	return fmt.Sprintf("  %s %s\n", filepath.Join(o.dir, enterFile), boot), errors.Join(
		sandbox.AddNetwork(link, outside+".1/24"), os.WriteFile(boot, []byte(head+bootScript), 0o755),
	)
}

// browsable writes the script that gives browsers access.
func (o *options) browsable(ctx context.Context, c *clouds.Cloud) error {
	admin, err := c.Operators.Secret(ctx, c.Namespace, "keystone-admin")
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	head := fmt.Sprintf("#!/bin/sh\nPROGRAM=%q DIR=%q SITE=%q LOGIN=%q\n", program, o.dir, c.Dashboard(), admin["username"])
	return errors.Join(
		os.WriteFile(filepath.Join(o.dir, passwordFile), admin["password"], 0o600),
		os.WriteFile(filepath.Join(o.dir, publicFile), c.Operators.Public.Certificate, 0o644),
		os.WriteFile(filepath.Join(o.dir, horizonFile), []byte(head+horizonScript), 0o755),
	)
}
