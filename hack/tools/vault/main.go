// Command vault is a Vault server, built from the module of its core: a KV store in memory, unsealed, for tests. Vault 1.14 is the last
// release under the MPL, and the origin of OpenBao.
//
//	vault ADDRESS
//
// It prints the root token, in one line, before it serves. Nothing is mounted.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	vhttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: vault ADDRESS")
	}
	core, token, err := unsealed(context.Background(), os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if _, err := fmt.Fprintln(os.Stdout, token); err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Addr: os.Args[1], Handler: vhttp.Handler.Handler(&vault.HandlerProperties{Core: core}), ReadHeaderTimeout: time.Minute,
	}
	log.Fatal(server.ListenAndServe())
}

// unsealed is a core, with its root token.
func unsealed(ctx context.Context, address string) (*vault.Core, string, error) {
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Warn})
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return nil, "", err
	}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical: storage, Logger: logger, DisableMlock: true, RedirectAddr: "http://" + address,
		BuiltinRegistry: none{}, LogicalBackends: map[string]logical.Factory{"kv": kv.Factory},
	})
	if err != nil {
		return nil, "", err
	}
	one := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1}
	r, err := core.Initialize(ctx, &vault.InitParams{BarrierConfig: one, RecoveryConfig: one})
	if err != nil {
		return nil, "", err
	}
	_, err = core.Unseal(r.SecretShares[0])
	return core, r.RootToken, err
}

// none is a registry without built-in plugins. The core requires a registry for every mount.
type none struct{}

func (none) Contains(string, consts.PluginType) bool { return false }

func (none) Get(string, consts.PluginType) (func() (any, error), bool) { return nil, false }

func (none) Keys(consts.PluginType) []string { return nil }

func (none) DeprecationStatus(string, consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Unknown, false
}
