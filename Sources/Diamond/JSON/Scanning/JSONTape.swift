import Foundation

/// The structure of a JSON text (RFC 8259): one entry for each value and each name, in the order of the text.
///
/// It contains offsets into the text, and no text: the bytes must stay in place as long as the tape and its elements
/// are used. Elements are valid as long as the tape; keep it alive with `withExtendedLifetime`.
///
/// The whole text was found valid. What two readers could read differently (RFC 7493) is an ambiguity: a repeated name,
/// a lone surrogate, a number that is larger than any double.
package struct JSONTape: ~Copyable {
    /// The ways to treat an ambiguity.
    package enum Ambiguities: Sendable {
        /// The text is refused.
        case refused
        /// The innermost object around it, or the element of the outermost array, becomes an element of the kind
        /// `fault`. Values that are nested too deeply are ambiguities, too.
        case isolated
        /// It is read: the reader decides about repeated names and large numbers, a lone surrogate is U+FFFD.
        case ignored
    }

    /// The maximum nesting depth of a text.
    package static let maximumDepth = 128

    @usableFromInline package let entries: UnsafePointer<JSONEntry>
    @usableFromInline package let bytes: UnsafePointer<UInt8>
    /// The number of shapes that objects share.
    let shapeCount: Int

    /// Scans a whole text in one pass.
    ///
    /// - Parameters:
    ///   - bytes: The text, at most 1 GiB. A byte order mark before it is ignored (RFC 8259 section 8.1).
    ///   - ambiguities: The way to treat an ambiguity.
    ///   - maximumDepth: The maximum nesting depth.
    /// - Throws: `malformed` or `ambiguous`, with the offset. An ambiguity is thrown only if the whole text is valid.
    package init(
        scanning bytes: UnsafeRawBufferPointer, ambiguities: Ambiguities = .refused,
        maximumDepth: Int = Self.maximumDepth
    ) throws(JSONError) {
        let scanner = try JSONScanner(scanning: bytes, ambiguities: ambiguities, maximumDepth: maximumDepth)
        entries = UnsafePointer(scanner.entries)
        self.bytes = scanner.bytes
        shapeCount = scanner.shapes.count
    }

    deinit { entries.deallocate() }

    /// The value of the text.
    @inlinable package var root: JSONElement { JSONElement(entry: entries, bytes: bytes) }
}

/// A tape with a copy of its text.
struct CopiedTape: ~Copyable {
    private let bytes: UnsafeMutableRawBufferPointer
    private let tape: JSONTape

    init(
        scanning text: Data, ambiguities: JSONTape.Ambiguities, maximumDepth: Int = JSONTape.maximumDepth
    ) throws(JSONError) {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 8)
        text.copyBytes(to: bytes)
        do {
            tape = try JSONTape(
                scanning: UnsafeRawBufferPointer(bytes), ambiguities: ambiguities, maximumDepth: maximumDepth)
        } catch {
            bytes.deallocate()
            throw error
        }
        self.bytes = bytes
    }

    deinit { bytes.deallocate() }

    var root: JSONElement { tape.root }
}

/// An entry of a tape.
package struct JSONEntry {
    /// The offset of the value in the text: of a string after its quote, of an array or object at its bracket.
    @usableFromInline package var start: UInt32
    /// The offset after the value: of a string at its closing quote, of an array or object after its bracket.
    @usableFromInline package var end: UInt32
    /// The number of entries to the next value; of an open array or object the index of the one around it; of an
    /// object's first name its shape.
    @usableFromInline package var span: UInt32 = 1
    /// The kind in three bits, then the flags of a string or number, or the number of elements or members.
    @usableFromInline package var tag: UInt32

    /// The flag of a string that has escapes.
    @usableFromInline package static let escaped: UInt32 = 8
    /// The flag of a string that has a lone surrogate.
    @usableFromInline package static let loneSurrogate: UInt32 = 16
    /// The flag of a string that has characters beyond ASCII.
    static let beyondASCII: UInt32 = 32
    /// The flag of an integer of at most 18 digits, without fraction and exponent.
    @usableFromInline package static let shortInteger: UInt32 = 8
    /// The increase of the tag for each element or member.
    static let one: UInt32 = 8

    @inline(__always)
    init(_ kind: JSONElement.Kind, start: Int, end: Int, flags: UInt32 = 0) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
        tag = UInt32(kind.rawValue) | flags
    }
}
