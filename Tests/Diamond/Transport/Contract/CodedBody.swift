import DiamondTestSupport
import Foundation
import Testing

/// A body with content codings, encoded by Python's zlib, and its decoded text.
struct CodedBody: Sendable, CustomTestStringConvertible {
    /// The value of `Content-Encoding`.
    let coding: String
    let bytes: [UInt8]
    let text: String
    /// The offsets before its last byte where it may end.
    var otherEnds: Set<Int> = []
    var note = ""

    var testDescription: String { "\(coding) \(note)" }

    private init(_ coding: String, _ parts: [String], _ text: String = "foobar", note: String = "") {
        self.coding = coding
        let members = parts.map { [UInt8](Data(base64Encoded: $0) ?? Data()) }
        (bytes, self.text, self.note) = (Array(members.joined()), text, note)
        otherEnds = Set(members.indices.map { members[..<$0].joined().count })
    }

    private static let foo = "H4sIAAAAAAACA0vLzwcAIWVzjAMAAAA="
    private static let bar = "H4sIAAAAAAACA0tKLAIAqoz/dgMAAAA="
    private static let empty = "H4sIAAAAAAACAwMAAAAAAAAAAAA="
    static let zlib = "eNpLy89PSiwCAAirAno="
    static let bare = "S8vPT0osAgA="
    static let gzip = "H4sIAAAAAAACA0vLz09KLAIAlR/2ngYAAAA="

    /// One body of each coding.
    static let all = [
        CodedBody("gzip", [gzip]),
        CodedBody("X-GZip", [gzip]),
        CodedBody("gzip", [foo, bar], note: "of two members"),
        CodedBody("gzip", [empty, gzip, empty], note: "of members without content"),
        CodedBody("gzip", [foo, "AAAA", bar, "AAAA"], note: "with padding"),
        CodedBody(
            "gzip", ["H4sIHwAAAAAAAwQAYWJjZG5hbWUAY29tbWVudAB17kvLz09KLAIAlR/2ngYAAAA="], note: "with every field"),
        CodedBody("deflate", [zlib], note: "in zlib's format"),
        CodedBody("deflate", [bare], note: "bare"),
        CodedBody("gzip, gzip", ["H4sIAAAAAAACA5Pv5mAAASZm79Pn/b10mBimyn+bxwYUAQCdSxK0GgAAAA=="]),
        CodedBody("deflate,, GZIP", ["H4sIAAAAAAACA6u45X36vL+XDhMDx2qmKgDMzSO/DgAAAA=="]),
        CodedBody("identity, gzip", [gzip]),
    ]

    /// Invalid coded bodies.
    static let broken = [
        CodedBody("gzip", [Data("not gzip!".utf8).base64EncodedString()], note: "that is none"),
        CodedBody("gzip", ["H4sIAAAAAAACA0vLz09KLAIAlR/2nwYAAAA="], note: "with another checksum"),
        CodedBody("gzip", [gzip, "WFhY"], note: "with bytes behind it"),
        CodedBody("gzip", [gzip, "H1hY"], note: "with a member that is none"),
        CodedBody("deflate", [zlib, "WFhY"], note: "with bytes behind it"),
        CodedBody("deflate", ["eNpLy89PSiwCAAirAns="], note: "with another checksum"),
        CodedBody("deflate", [Data("not deflate".utf8).base64EncodedString()], note: "that is none"),
        CodedBody("gzip, gzip", [gzip], note: "once"),
    ]

    /// How a server marks the end of a body.
    enum Framing: CaseIterable { case length, chunks, close }

    /// Starts a server that answers every request with its first bytes, in valid framing.
    func server(_ framing: Framing, first count: Int? = nil, _ fields: String = "") throws -> RawServer {
        let part = Array(bytes.prefix(count ?? bytes.count))
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n\(fields)"
        return try RawServer { connection in
            guard connection.readHead() != nil else { return }
            switch framing {
            case .length: connection.write(Array("\(head)Content-Length: \(part.count)\r\n\r\n".utf8) + part)
            case .chunks:
                connection.write("\(head)Transfer-Encoding: chunked\r\n\r\n")
                for byte in part { connection.write(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
                connection.write("0\r\n\r\n")
            case .close: connection.write(Array("\(head)\r\n".utf8) + part)
            }
        }
    }
}
