// Command versitygw is an S3 object store for a folder, with one account. It is Versity's gateway without the other backends of its own
// command.
//
//	versitygw -address :7070 -folder /data -certificate tls.crt -key tls.key BUCKET…
//
// The account is in $ROOT_ACCESS_KEY_ID and $ROOT_SECRET_ACCESS_KEY.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "versitygw:", err)
		os.Exit(1) //nolint:gocritic // No cleanup is required.
	}
}

func run(ctx context.Context) error {
	address := flag.String("address", ":7070", "where to listen")
	folder := flag.String("folder", "", "folder for objects and their metadata")
	certificate := flag.String("certificate", "", "certificate, for TLS")
	key := flag.String("key", "", "key of the certificate")
	region := flag.String("region", "us-east-1", "region that clients have to name")
	flag.Parse()

	path, err := filepath.Abs(*folder)
	if err != nil {
		return err
	}
	objects, about := filepath.Join(path, "objects"), filepath.Join(path, "about")
	for _, dir := range []string{objects, about} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for _, bucket := range flag.Args() {
		if err := os.MkdirAll(filepath.Join(objects, bucket), 0o700); err != nil {
			return err
		}
	}
	// Not every volume of a pod has extended attributes.
	attributes, err := meta.NewSideCar(about)
	if err != nil {
		return err
	}
	store, err := posix.New(objects, attributes, posix.PosixOpts{SideCarDir: about})
	if err != nil {
		return err
	}
	const limit, parts = 100, 10000
	return embedgw.RunVersityGW(ctx, store, &embedgw.Config{
		RootUserAccess: os.Getenv("ROOT_ACCESS_KEY_ID"), RootUserSecret: os.Getenv("ROOT_SECRET_ACCESS_KEY"),
		Region: *region, Ports: []string{*address}, CertFile: *certificate, KeyFile: *key, HealthPath: "/healthz",
		MaxConnections: limit, MaxRequests: limit, MultipartMaxParts: parts, Quiet: true,
	})
}
