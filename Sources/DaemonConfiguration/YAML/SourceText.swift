/// The checks before parsing: the bytes are UTF-8, and all characters are allowed in YAML.
///
/// libyaml makes these checks too, but reports only the byte's offset.
package enum SourceText {
    /// Decodes UTF-8 strictly; a repair would hide the problem.
    package static func decode(_ bytes: [UInt8], file: String) throws(ConfigurationError) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var position = Position()
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        while case .scalarValue(let scalar) = decoder.decode(&iterator) {
            position.advance(over: scalar)
        }
        throw position.problem("the file isn't UTF-8; expected it to be saved as UTF-8", file: file)
    }

    /// Checks that all characters are in YAML's set of printable characters.
    ///
    /// https://yaml.org/spec/1.2.2/#51-character-set
    static func check(scalars: String.UnicodeScalarView, file: String) throws(ConfigurationError) {
        var position = Position()
        for (index, scalar) in scalars.enumerated() {
            switch scalar.value {
            case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x85, 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...0x10FFFF: break
            case 0xFEFF where index == 0: continue  // a byte order mark has no column of its own
            default:
                let name = String(scalar.value, radix: 16, uppercase: true)
                let padding = String(repeating: "0", count: max(0, 4 - name.count))
                throw position.problem(
                    "the character U+\(padding)\(name) isn't allowed in YAML; expected printable text (write it as an escape in double quotes)",
                    file: file
                )
            }
            position.advance(over: scalar)
        }
    }

    private struct Position {
        var line = 1
        var column = 1

        mutating func advance(over scalar: Unicode.Scalar) {
            if scalar == "\n" {
                (line, column) = (line + 1, 1)
            } else {
                column += 1
            }
        }

        func problem(_ message: String, file: String) -> ConfigurationError {
            ConfigurationError(problems: [.init(file: file, line: line, column: column, message: message)])
        }
    }
}
