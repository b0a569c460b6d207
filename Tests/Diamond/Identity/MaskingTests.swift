import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Masking a body") struct MaskingTests {
    private static let json = #"{"access_token":"SECRET","name":"M\#u{fc}ller"}"#
    private static let masked = #"{"access_token":"•••","name":"M\#u{fc}ller"}"#
    private static let headers: HTTPFields = [.contentType: "application/json"]

    @Test(arguments: [String.Encoding.utf8, .utf16LittleEndian, .utf16BigEndian], ["", "\u{feff}"])
    func `masks JSON in each encoding form of Unicode, and keeps the form`(
        encoding: String.Encoding, mark: String
    ) throws {
        let body = try #require((mark + Self.json).data(using: encoding))
        let expected = try #require((mark + Self.masked).data(using: encoding))
        #expect(Masking.body(body, headers: Self.headers) == expected)
        #expect(Masking.body(body) == expected)
    }

    @Test func `masks forms in UTF-16`() throws {
        let body = try #require("access_token=SECRET&page=1".data(using: .utf16LittleEndian))
        let expected = "access_token=•••&page=1".data(using: .utf16LittleEndian)
        #expect(Masking.body(body, headers: [.contentType: "application/x-www-form-urlencoded"]) == expected)
        #expect(Masking.body(body) == expected)
    }

    @Test func `masks JSON in a charset with the bytes of ASCII, and keeps all other bytes`() throws {
        let body = try #require(Self.json.data(using: .isoLatin1))
        let expected = Data(#"{"access_token":"•••","name":"M"#.utf8) + [0xfc] + Data(#"ller"}"#.utf8)
        #expect(Masking.body(body, headers: Self.headers) == expected)
    }

    @Test func `keeps bytes that are no text`() {
        let body = Data(0...255)
        #expect(Masking.body(body, headers: [:]) == body)
        #expect(Masking.body(Data(), headers: [:]).isEmpty)
    }
}
