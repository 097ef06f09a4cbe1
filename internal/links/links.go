// Package links finds the links of Markdown pages that lead nowhere.
package links

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	code     = regexp.MustCompile("(?s)```.*?```")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchor   = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	unlinked = regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`) // what the name of a heading has not
)

// Dead returns the links within the pages below a folder that lead nowhere, and how many
// links there are. Hidden folders, and testdata, are left out.
func Dead(root string) (dead []string, all int, err error) {
	err = filepath.WalkDir(root, func(page string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && page != root && (strings.HasPrefix(name, ".") || name == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(page) != ".md":
			return nil
		}
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		for _, to := range linksOf(string(text)) {
			all++
			if !leads(page, to) {
				dead = append(dead, fmt.Sprintf("%s links to %s", page, to))
			}
		}
		return nil
	})
	return dead, all, err
}

// linksOf returns the links of a page, but for those to other sites.
func linksOf(page string) (to []string) {
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(page, ""), -1) {
		if !strings.Contains(m[1], "://") {
			to = append(to, m[1])
		}
	}
	return to
}

func leads(page, link string) bool {
	to, name, _ := strings.Cut(link, "#")
	target := page
	if to != "" {
		target = filepath.Join(filepath.Dir(page), to)
	}
	if name == "" {
		_, err := os.Stat(target)
		return err == nil
	}
	text, err := os.ReadFile(target)
	return err == nil && slices.Contains(places(string(text)), name)
}

// places returns what a link to a page can name.
func places(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(code.ReplaceAllString(page, ""), -1) {
		names = append(names, strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	for _, m := range anchor.FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}
