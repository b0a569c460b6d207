import HTTPTypes
import Testing

@testable import Diamond

#if Curl && os(Linux)
@Suite("The decoder of a coded body") struct BodyDecoderTests {
    private let url = "http://h/"

    private func decoder(_ coding: String) throws -> ContentDecoder {
        try #require(ContentDecoder([.contentEncoding: coding], of: TransportRequest(url: url)))
    }

    /// Decodes bytes in pieces of a size.
    private func decode(_ bytes: some Collection<UInt8>, by size: Int, with decoder: ContentDecoder) throws -> String? {
        let pipe = BodyPipe()
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            _ = try rest.prefix(size).withUnsafeBytes { try decoder.decode($0, into: pipe) }
            rest = rest.dropFirst(size)
        }
        pipe.finish(nil)
        return pipe.arrivedBody(upTo: .max).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: CodedBody.all, [1, 2, 3, 1000])
    func `the decoder detects every truncation, and the end`(coded: CodedBody, size: Int) throws {
        for count in 0...coded.bytes.count {
            let decoder = try decoder(coded.coding)
            let text = try decode(coded.bytes.prefix(count), by: size, with: decoder)
            let isEnd = count == coded.bytes.count || coded.otherEnds.contains(count) || coded.isPadding(count)
            #expect((decoder.endFailure == nil) == isEnd, "\(count) bytes")
            if count == coded.bytes.count { #expect(text == coded.text) }
        }
    }

    @Test(arguments: CodedBody.broken, [1, 1000])
    func `the decoder detects damage`(coded: CodedBody, size: Int) throws {
        let error = #expect(throws: TransportError.self) {
            let decoder = try decoder(coded.coding)
            _ = try decode(coded.bytes, by: size, with: decoder)
            if let failure = decoder.endFailure { throw failure }
        }
        #expect(error?.code == .badResponse && error?.message.hasPrefix("http://h: ") == true)
    }
}

extension CodedBody {
    /// Whether only zeros separate an end of a member from this offset.
    fileprivate func isPadding(_ count: Int) -> Bool {
        guard note == "with padding" else { return false }
        return otherEnds.contains { $0 > 0 && $0 < count && bytes[$0..<count].allSatisfy { $0 == 0 } }
    }
}
#endif
