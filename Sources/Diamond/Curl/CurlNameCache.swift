#if Curl && canImport(CDiamondCurl)
import HTTPTypes

/// A cache of header names received before. A server repeats the same names, mostly in the same order, and finding a
/// name costs less than creating it.
struct CurlNameCache {
    private var known: [HTTPField.Name] = []
    /// The likely position of the next name.
    private var next = 0

    private static let limit = 64

    /// Returns the name with these bytes, in exactly this case; `nil` if they are not a name.
    mutating func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        for _ in known.indices {
            if next >= known.count { next = 0 }
            defer { next += 1 }
            if Self.isName(known[next], equalTo: bytes) { return known[next] }
        }
        return add(bytes)
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        guard let name = HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else { return nil }
        if known.count < Self.limit { known.append(name) }
        next = known.count
        return name
    }

    private static func isName(_ name: HTTPField.Name, equalTo bytes: UnsafeRawBufferPointer) -> Bool {
        var text = name.rawName
        return text.withUTF8 { $0.count == bytes.count && UnsafeRawBufferPointer($0).elementsEqual(bytes) }
    }
}
#endif
