/// The checks before parsing: the bytes are UTF-8, and all characters are allowed in YAML.
///
/// libyaml makes these checks too, but reports only the byte's offset.
package enum SourceText {
    /// Decodes UTF-8 strictly; a repair would hide the problem.
    package static func decode(_ bytes: [UInt8], file: String) throws(ConfigurationError) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var mark = Mark()
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        while case .scalarValue(let scalar) = decoder.decode(&iterator) {
            mark.advance(over: scalar)
        }
        throw mark.error("the file isn't UTF-8; expected it to be saved as UTF-8", file: file)
    }

    /// Checks that all characters are in YAML's set of printable characters.
    ///
    /// https://yaml.org/spec/1.2.2/#51-character-set
    static func check(scalars: String.UnicodeScalarView, file: String) throws(ConfigurationError) {
        var mark = Mark()
        for (index, scalar) in scalars.enumerated() {
            switch scalar.value {
            case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x85, 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...0x10FFFF: break
            case 0xFEFF where index == 0: continue  // a byte order mark has no column of its own
            default:
                let name = String(scalar.value, radix: 16, uppercase: true)
                let padding = String(repeating: "0", count: max(0, 4 - name.count))
                throw mark.error(
                    "the character U+\(padding)\(name) isn't allowed in YAML; expected printable text (write it as an escape in double quotes)",
                    file: file
                )
            }
            mark.advance(over: scalar)
        }
    }
}
