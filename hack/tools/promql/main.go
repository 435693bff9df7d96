// Command promql parses PromQL expressions, one on each line of its input, with Prometheus's own parser. It prints errors, and exits with
// 1 if there are any. With the argument evaluate, it evaluates questions instead.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "evaluate" {
		if err := evaluate(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	wrong := 0
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(lines.Text()); err != nil {
			fmt.Printf("%s: %v\n", lines.Text(), err)
			wrong++
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if wrong > 0 {
		os.Exit(1)
	}
}
