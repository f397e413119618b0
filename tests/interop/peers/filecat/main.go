// SPDX-License-Identifier: Apache-2.0

// Command filecat reads files of OTLP traces with the collector's own decoders, and prints each message as a line of
// OTLP JSON. By its name a file holds JSON (.jsonl) or length-prefixed protobuf (.otlp), compressed when .zst follows.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// A message is a line, or framed: four bytes of length, most significant first, and that many bytes.
func nextMessage(file *bufio.Reader, framed bool) ([]byte, error) {
	if !framed {
		line, err := file.ReadBytes('\n')
		if err == io.EOF && len(line) > 0 {
			err = nil
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
	var size uint32
	if err := binary.Read(file, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	message := make([]byte, size)
	if _, err := io.ReadFull(file, message); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return message, nil
}

func printFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	name, compressed := strings.CutSuffix(path, ".zst")
	var decoder ptrace.Unmarshaler = &ptrace.ProtoUnmarshaler{}
	isJSON := strings.HasSuffix(name, ".jsonl")
	if isJSON {
		decoder = &ptrace.JSONUnmarshaler{}
	}
	decompressor, err := zstd.NewReader(nil)
	if err != nil {
		return err
	}
	reader := bufio.NewReader(file)
	for {
		message, err := nextMessage(reader, compressed || !isJSON)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if compressed {
			if message, err = decompressor.DecodeAll(message, nil); err != nil {
				return err
			}
		}
		traces, err := decoder.UnmarshalTraces(message)
		if err != nil {
			return err
		}
		line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", line)
	}
}

func main() {
	for _, path := range os.Args[1:] {
		if err := printFile(path); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
	}
}
