// Command modzip packs this module as a module proxy serves it, into DIR/PATH/@v. A release is the tag
// sdk/go/vVERSION of the repository; modzip shows before the tag what users will get.
//
//	go run ./internal/modzip DIR
package main

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	millrace "github.com/millrace/millrace/sdk/go"
)

const module = "github.com/millrace/millrace/sdk/go"

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: modzip DIR")
	}
	if err := pack(filepath.Join(os.Args[1], filepath.FromSlash(module), "@v"), "v"+millrace.Version); err != nil {
		log.Fatal(err)
	}
}

func pack(dir, version string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Unix(0, 0).UTC().Format(time.RFC3339))
	for name, content := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".mod": mod, version + ".info": []byte(info),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	archive := zip.NewWriter(file)
	if err := addAll(archive, module+"@"+version+"/"); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return file.Close()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// addAll adds the files of the working directory, which is the module's root.
func addAll(archive *zip.Writer, prefix string) error {
	return filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(entry.Name(), ".") && path != ".":
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir() && path != "." && isFile(filepath.Join(path, "go.mod")):
			return filepath.SkipDir // a module of its own
		case !entry.Type().IsRegular():
			return nil
		}
		from, err := os.Open(path)
		if err != nil {
			return err
		}
		defer from.Close()
		to, err := archive.Create(prefix + filepath.ToSlash(path))
		if err != nil {
			return err
		}
		_, err = io.Copy(to, from)
		return err
	})
}
