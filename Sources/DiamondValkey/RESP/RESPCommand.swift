#if Valkey
package import NIOCore

/// A command, encoded as an array of bulk strings. Its description has no arguments: they may be a password or an
/// entry.
package struct RESPCommand: Sendable, CustomStringConvertible {
    package let name: String
    /// The encoded bytes.
    package private(set) var bytes: ByteBuffer

    /// - Parameter argumentCount: the number of arguments that ``add(_:)-(String)`` and the others add.
    package init(_ name: String, argumentCount: Int, capacity: Int = 64) {
        self.name = name
        bytes = ByteBuffer()
        bytes.reserveCapacity(capacity + 32)
        writeLength("*", argumentCount + 1)
        add(name)
    }

    package init(_ name: String, _ arguments: String...) {
        self.init(name, argumentCount: arguments.count, capacity: arguments.reduce(64) { $0 + $1.utf8.count + 16 })
        for argument in arguments { add(argument) }
    }

    package mutating func add(_ text: String) {
        writeLength("$", text.utf8.count)
        bytes.writeString(text)
        bytes.writeStaticString("\r\n")
    }

    package mutating func add(_ argument: ByteBuffer) {
        writeLength("$", argument.readableBytes)
        bytes.writeImmutableBuffer(argument)
        bytes.writeStaticString("\r\n")
    }

    private mutating func writeLength(_ type: StaticString, _ length: Int) {
        bytes.writeStaticString(type)
        // Without a string in the heap: most lengths are small.
        if length < 10 {
            bytes.writeInteger(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: length))
        } else {
            bytes.writeString(String(length))
        }
        bytes.writeStaticString("\r\n")
    }

    package var description: String { name }
}
#endif
