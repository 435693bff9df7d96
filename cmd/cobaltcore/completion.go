package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/spf13/cobra"

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: bash, zsh or fish."`
}

// Run writes the completion script of a shell. The script calls the hidden command of isCompletion.
func (c *completionCommand) Run(app *kong.Context, out io.Writer) error {
	root := completions(app.Model.Node)
	switch c.Shell {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	}
	return root.GenFishCompletion(out, true)
}

// isCompletion reports whether the arguments are the request of a completion script.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// handleCompletion handles the request of a completion script.
func handleCompletion(app *kong.Kong, args []string, out, errOut io.Writer) int {
	root := completions(app.Model.Node)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	if err := root.Execute(); err != nil {
		fmt.Fprintln(errOut, err)
		return exitFailed
	}
	return 0
}

// completions returns the commands in the form of a library that generates completion scripts. Kong, which parses the arguments, does not.
func completions(n *kong.Node) *cobra.Command {
	c := &cobra.Command{Use: n.Name, Short: n.Help, Run: func(*cobra.Command, []string) {}, SilenceUsage: true, SilenceErrors: true}
	c.CompletionOptions.DisableDefaultCmd = true
	c.SetHelpCommand(&cobra.Command{Hidden: true})
	for _, f := range n.Flags {
		short := ""
		if f.Short != 0 {
			short = string(f.Short)
		}
		if f.IsBool() {
			c.Flags().BoolP(f.Name, short, false, f.Help)
			continue
		}
		c.Flags().StringArrayP(f.Name, short, nil, f.Help)
		if f.Enum == "" {
			continue // The shell completes names of files.
		}
		if err := c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values(f.Value), cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // The flag was added above.
		}
	}
	for _, p := range n.Positional {
		c.ValidArgsFunction = cobra.FixedCompletions(values(p), cobra.ShellCompDirectiveNoFileComp)
		if p.Name == claimArgument {
			c.ValidArgsFunction = cobra.FixedCompletions(values(p), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
		}
	}
	if len(n.Children) == 0 && len(n.Positional) == 0 {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, child := range n.Children {
		if !child.Hidden {
			c.AddCommand(completions(child))
		}
	}
	return c
}

// claimArgument is the name of the argument with a kind and a name.
const claimArgument = "kind/name"

// values returns the values of a flag or of an argument, or none if any value is possible.
func values(v *kong.Value) []string {
	if v.Enum != "" {
		return v.EnumSlice()
	}
	var out []string
	if v.Name == claimArgument {
		for _, k := range doctor.Kinds() {
			out = append(out, strings.ToLower(k.Kind)+"/")
		}
	}
	slices.Sort(out)
	return out
}
