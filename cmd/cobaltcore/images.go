package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

type imagesCommand struct {
	claimFlags `embed:""`

	Format string `default:"text" enum:"text,json" help:"Output format: text (one image on each line) or json (with their objects)." short:"o"`
}

// jsonImage is an image in the JSON output.
type jsonImage struct {
	Image string   `json:"image"`
	Users []string `json:"users"`
}

// Run lists the images of claims.
func (c *imagesCommand) Run(in io.Reader, out io.Writer, errOut notes) error {
	if err := c.check(); err != nil {
		return err
	}
	claims, platform, err := c.read(in, errOut)
	if err != nil {
		return err
	}
	results, err := previewAll(claims, platform)
	if err != nil {
		return err
	}
	images, err := preview.Images(results)
	if err != nil {
		return err
	}
	list := []jsonImage{}
	for _, image := range images {
		if c.Format == "json" {
			list = append(list, jsonImage{image.Name, image.Users})
		} else if _, err := fmt.Fprintln(out, image.Name); err != nil {
			return err
		}
	}
	if c.Format != "json" {
		return nil
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(list)
}
