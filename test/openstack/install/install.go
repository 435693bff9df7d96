package install

import (
	"context"
	"errors"
	"io"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Programs are the programs of a cloud.
type Programs struct {
	// Services are virtual environments with all of OpenStack's services, by release.
	Services map[release.Release]string
	// Servers is the root of a Debian with MariaDB, RabbitMQ, Valkey and memcached.
	Servers string
	// FederationProxy is the root of a Debian with Apache and mod_auth_openidc.
	FederationProxy string
	// Network is the root of a Debian with OVN.
	Network string
	// Hypervisor is the root of a Debian with libvirt and QEMU, and Guest the boot image of servers: both empty unless
	// requested.
	Hypervisor string
	Guest      Guest
	// Ceph is the root of a Debian with Ceph's servers: empty unless requested.
	Ceph string
	// Proxies is the root of a Debian with nginx and HAProxy, and Envoy a program: both empty unless requested.
	Proxies, Envoy string
	// MariaDBOperator and ObjectStore are programs of hack/tools: mariadb-operator, which makes backups, and versitygw,
	// an S3 server.
	MariaDBOperator, ObjectStore string
}

// Options select programs in addition to the ones that every cloud needs.
type Options struct {
	// Releases of OpenStack. None: only networks.
	Releases []release.Release
	Ceph     bool
	// Proxies: reverse proxies for services, as in Ingress controllers and Gateways.
	Proxies bool
	// Browser: a browser for pages with scripts.
	Browser bool
	// Guests: servers run.
	Guests bool
}

// All returns the selected programs, and installs missing ones. Root is the folder of this project.
func All(ctx context.Context, root string, w Options, log io.Writer) (*Programs, error) {
	if err := checkMachine("/etc/os-release"); err != nil {
		return nil, err
	}
	p := &Programs{Services: map[release.Release]string{}}
	var more []program
	if w.Browser {
		more = browser
	}
	if err := Debian(ctx, log, more...); err != nil {
		return nil, err
	}
	if w.Guests {
		var errs [2]error
		p.Hypervisor, errs[0] = image(ctx, release.Libvirt, log)
		p.Guest, errs[1] = NewGuest(ctx, log)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
	}
	for _, r := range w.Releases {
		venv, err := Services(ctx, root, r, log)
		if err != nil {
			return nil, err
		}
		p.Services[r] = venv
	}
	var errs [8]error
	p.ObjectStore, errs[3] = Tool(ctx, root, "versitygw", log)
	if p.Network, errs[4] = image(ctx, release.OVN, log); len(w.Releases) == 0 {
		return p, errors.Join(errs[:]...)
	}
	p.Servers, errs[0] = servers.install(ctx, log)
	p.FederationProxy, errs[5] = image(ctx, release.FederationProxy, log)
	if w.Ceph {
		p.Ceph, errs[1] = ceph.install(ctx, log)
	}
	if w.Proxies {
		p.Proxies, errs[6] = proxies.install(ctx, log)
		p.Envoy, errs[7] = Envoy(ctx, log)
	}
	p.MariaDBOperator, errs[2] = Tool(ctx, root, "mariadb-operator", log)
	return p, errors.Join(errs[:]...)
}

// image returns the root of a Debian with the packages of one of this project's images.
func image(ctx context.Context, name string, log io.Writer) (string, error) {
	t, err := ofImage(name)
	if err != nil {
		return "", err
	}
	return t.install(ctx, log)
}
