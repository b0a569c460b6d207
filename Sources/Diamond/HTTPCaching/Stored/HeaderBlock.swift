import Foundation
package import HTTPTypes

/// Response headers as bytes on disk: `Name: value` lines, in the order received.
enum HeaderBlock {
    /// The fields that are never stored, because they are about the connection (RFC 9110 section 7.6.1) or secret.
    private static let dropped = ASCIIWordMatcher([
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "set-cookie", "set-cookie2",
    ])

    /// The usual values of `Connection`, which name only fields that are never stored.
    private static let options = ASCIIWordMatcher(["close", "keep-alive"])

    /// Returns the headers that may be stored; `nil` if one of them may not, and the response has another meaning
    /// without it.
    ///
    /// - Parameters:
    ///   - secrets: finds the values that must not be written to a file; `nil` if every value may be.
    ///   - excluded: further names of fields that are not stored, in lower case.
    ///   - keepsCookies: whether `Set-Cookie` is stored.
    static func kept(
        _ headers: HTTPFields,
        _ secrets: FieldSecrets? = FieldSecrets(),
        without excluded: [String] = [],
        keepingCookies keepsCookies: Bool = false
    ) -> HTTPFields? {
        let listed = listed(in: headers)
        let isWithheld = { (field: HTTPField) in
            !(keepsCookies && field.name == .setCookie) && secrets?.holdsSecret(field) == true
                || !excluded.isEmpty && excluded.contains(field.name.canonicalName)
        }
        let isKept = { (field: HTTPField) in
            Self.isKept(field, without: listed, keepingCookies: keepsCookies) && !isWithheld(field)
        }
        guard let first = headers.first(where: { !isKept($0) }) else { return headers }
        let losesTarget = headers.contains { FieldSecrets.isLeading($0.name) && isWithheld($0) }
        guard !losesTarget else { return nil }
        // Most responses lose one field, `Connection`, and HTTPFields has no cheaper way to remove it.
        var kept = headers
        kept[first.name] = nil
        return kept.allSatisfy(isKept) ? kept : kept.filter(isKept)
    }

    private static func isKept(_ field: HTTPField, without listed: Set<String>, keepingCookies keepsCookies: Bool)
        -> Bool
    {
        let name = field.name.canonicalName
        if keepsCookies, field.name == .setCookie || name == "set-cookie2" { return !listed.contains(name) }
        return !name.withBytes { dropped.hasWhole($0) } && (listed.isEmpty || !listed.contains(name))
    }

    /// Returns the names that `Connection` lists, in lower case. The values that almost every server sends list none.
    private static func listed(in headers: HTTPFields) -> Set<String> {
        var listed: Set<String> = []
        for field in headers where field.name == .connection {
            guard !field.value.withBytes({ options.hasWhole($0) }) else { continue }
            listed.formUnion(field.value.listElements)
        }
        return listed
    }

    /// Returns the lines of headers that may be stored.
    static func bytes(of headers: HTTPFields) -> Data {
        let size = headers.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.withUnsafeBytesOfValue(\.count) + 3 }
        var block = Data(count: size)
        // Appending to Data piece by piece takes ten times as long.
        block.withUnsafeMutableBytes { bytes in
            var place = 0
            for field in headers {
                copy(field.name.rawName, to: &place, in: bytes)
                bytes[place] = UInt8(ascii: ":")
                bytes[place + 1] = UInt8(ascii: " ")
                place += 2
                field.withUnsafeBytesOfValue { copy($0, to: &place, in: bytes) }
                bytes[place] = UInt8(ascii: "\n")
                place += 1
            }
        }
        return block
    }

    private static func copy(_ text: String, to place: inout Int, in bytes: UnsafeMutableRawBufferPointer) {
        var text = text
        text.withUTF8 { copy($0, to: &place, in: bytes) }
    }

    private static func copy(
        _ text: UnsafeBufferPointer<UInt8>,
        to place: inout Int,
        in bytes: UnsafeMutableRawBufferPointer
    ) {
        let end = place + text.count
        UnsafeMutableRawBufferPointer(rebasing: bytes[place..<end]).copyMemory(from: UnsafeRawBufferPointer(text))
        place = end
    }

    /// Returns the headers of a block. A line that is no header is skipped.
    static func fields(of block: Data) -> HTTPFields {
        block.withUnsafeBytes { bytes in
            var fields = HTTPFields()
            var rest = bytes.drop { $0 == 0x0A }
            for _ in 0..<HTTPFields.mostReceived where !rest.isEmpty {
                let line = rest.prefix { $0 != 0x0A }
                if let field = field(of: line) { fields.append(field) }
                rest = rest[line.endIndex...].drop { $0 == 0x0A }
            }
            return fields
        }
    }

    private static func field(of line: Slice<UnsafeRawBufferPointer>) -> HTTPField? {
        guard let colon = line.firstIndex(of: 0x3A),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        else { return nil }
        let value = line[(colon + 1)...].dropFirst()
        guard let text = String(validating: value, as: UTF8.self) else {
            return HTTPField(name: name, lenientValue: value)
        }
        return HTTPField(name: name, value: text)
    }

    /// The fields that describe the stored bytes. A response without these bytes does not update them (RFC 9111 section
    /// 3.2): the server may mean another form of the body, or the empty body of its response.
    private static let ofBody = ASCIIWordMatcher([
        "content-digest", "content-encoding", "content-length", "content-range", "transfer-encoding",
    ])

    /// The registered content codings (RFC 9110 section 16.6.1).
    private static let codings = ASCIIWordMatcher([
        "aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "identity", "pack200-gzip", "x-compress",
        "x-gzip", "zstd",
    ])

    /// Returns the fields of a response without those of its connection.
    ///
    /// - Parameter keepsCookies: whether `Set-Cookie` is among them.
    static func endToEnd(_ headers: HTTPFields, keepingCookies keepsCookies: Bool = false) -> HTTPFields {
        let listed = listed(in: headers)
        return headers.filter { isKept($0, without: listed, keepingCookies: keepsCookies) }
    }

    /// Returns the stored headers, updated by a 304, a response to HEAD or another part (RFC 9111 section 3.2). The new
    /// fields replace those of the same names, except for fields that describe the stored bytes.
    ///
    /// - Parameter passesCoding: whether the body is stored with its coding. Then a coding that is not registered may
    ///   get another such name.
    static func updated(
        _ stored: HTTPFields,
        by confirmation: HTTPFields,
        passingCoding passesCoding: Bool = false
    ) -> HTTPFields {
        let renamesCoding = passesCoding && hasUnknownCoding(stored) && hasUnknownCoding(confirmation)
        let new = confirmation.filter { field in
            renamesCoding && field.name == .contentEncoding
                || !field.name.canonicalName.withBytes { ofBody.hasWhole($0) }
        }
        let names = Set(new.map(\.name))
        let old = stored.filter { !names.contains($0.name) }
        // Each update may add fields, so their number is limited to that of one response.
        return HTTPFields(old.prefix(max(0, HTTPFields.mostReceived - new.count)) + new)
    }

    /// Whether all content codings of a response are unknown names, of which there is at least one. The cache cannot
    /// know whether they fit the bytes.
    private static func hasUnknownCoding(_ headers: HTTPFields) -> Bool {
        let names = headers[values: .contentEncoding].flatMap(\.listElements).filter { !$0.isEmpty }
        return !names.isEmpty && !names.contains { $0.withBytes { codings.hasWhole($0) } }
    }
}

extension HTTPFields {
    /// The fields without those about the connection, and without those that `Connection` lists (RFC 9110 section
    /// 7.6.1).
    package var endToEnd: HTTPFields { HeaderBlock.kept(self, nil, keepingCookies: true) ?? self }
}
