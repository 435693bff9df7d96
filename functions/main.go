// Command function serves every composition function of CobaltCore by one gRPC endpoint.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
	sdk "github.com/crossplane/function-sdk-go"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// cli are the flags; the names are those that Crossplane's package manager starts a function with.
type cli struct {
	Debug              bool   `help:"Enable debug logging." short:"d"`
	Network            string `default:"tcp" help:"Network to listen on."`
	Address            string `default:":9443" help:"Address to listen on."`
	TLSCertsDir        string `env:"TLS_SERVER_CERTS_DIR" help:"Directory with tls.crt, tls.key, and ca.crt of the clients."`
	Insecure           bool   `help:"Serve without TLS, for local rendering only."`
	MaxRecvMessageSize int    `default:"64" help:"Maximum size of a request, with all observed objects, in MiB."`
	MetricsAddress     string `default:":8080" help:"Address of the Prometheus metrics. Empty: none."`
}

func (c *cli) Run() error {
	log, err := sdk.NewLogger(c.Debug)
	if err != nil {
		return fmt.Errorf("cannot create a logger: %w", err)
	}
	wire.Register()
	function.TuneMemory()
	const mebibyte = 1 << 20
	return sdk.Serve(&function.Server{Kinds: kinds.Runners(), Log: log},
		sdk.Listen(c.Network, c.Address),
		sdk.MTLSCertificates(c.TLSCertsDir),
		sdk.Insecure(c.Insecure),
		sdk.MaxRecvMessageSize(c.MaxRecvMessageSize*mebibyte),
		sdk.WithMetricsServer(c.MetricsAddress),
	)
}

func main() {
	ctx := kong.Parse(&cli{}, kong.Description("The composition functions of CobaltCore."))
	if err := ctx.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
