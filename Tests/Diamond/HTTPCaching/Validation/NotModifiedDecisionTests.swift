import Foundation
import HTTPTypes
import Testing

@testable import Diamond

private let monday = "Mon, 07 Nov 1994 08:49:37 GMT"
private let sunday = "Sun, 06 Nov 1994 08:49:37 GMT"
private let both: HTTPFields = [.eTag: "\"a\"", .lastModified: monday]
private let dated: HTTPFields = [.lastModified: monday]

@Suite("RFC 9111 section 4.3.1, a validation with conditions of the caller") struct CallerConditionsTests {
    @Test(
        arguments: [
            (both, [:], .stored, [.ifNoneMatch: "\"a\"", .ifModifiedSince: monday]),
            (both, [.ifNoneMatch: "\"b\""], .both, [.ifNoneMatch: "\"b\", \"a\"", .ifModifiedSince: monday]),
            (both, [.ifNoneMatch: "W/\"a\""], .stored, [.ifNoneMatch: "W/\"a\"", .ifModifiedSince: monday]),
            (
                both, [.ifNoneMatch: "\"b\", \"a\""], .both,
                [.ifNoneMatch: "\"b\", \"a\"", .ifModifiedSince: monday]
            ),
            (both, [.ifNoneMatch: "*"], .none, [.ifNoneMatch: "*"]),
            (both, [.ifModifiedSince: sunday], .stored, [.ifNoneMatch: "\"a\"", .ifModifiedSince: monday]),
            ([.eTag: "\"a\""], [.ifModifiedSince: sunday], .stored, [.ifNoneMatch: "\"a\""]),
            (dated, [.ifModifiedSince: sunday], .stored, [.ifModifiedSince: monday]),
            (dated, [.ifNoneMatch: "\"b\""], .none, [.ifNoneMatch: "\"b\""]),
            ([:], [.ifModifiedSince: sunday], .none, [.ifModifiedSince: sunday]),
            // A tag that is not ASCII is not sent.
            ([.eTag: "\"\u{e9}\""], [.ifNoneMatch: "\"b\""], .none, [.ifNoneMatch: "\"b\""]),
            (
                both, [.range: "bytes=0-1", .ifRange: "\"b\""], .stored,
                [.range: "bytes=0-1", .ifRange: "\"b\"", .ifNoneMatch: "\"a\"", .ifModifiedSince: monday]
            ),
        ] as [(HTTPFields, HTTPFields, SentValidators, HTTPFields)])
    func `a validation sends the stored validators together with the caller's`(
        stored: HTTPFields, own: HTTPFields, validators: SentValidators, sent: HTTPFields
    ) {
        #expect(SentValidators(of: stored, with: own) == validators)
        var headers = own
        headers.addValidators(of: stored)
        #expect(Set(headers) == Set(sent))
    }
}

@Suite("RFC 9111 section 4.3.4, a 304 to conditions of stored response and caller") struct NotModifiedDecisionTests {
    private func decision(
        _ headers: HTTPFields, own: HTTPFields, stored: HTTPFields = both, isValidating: Bool = true
    ) -> NotModifiedDecision {
        let response = StoredResponse(
            status: 200, headerBlock: HeaderBlock.bytes(of: stored), body: Data(), storedAt: 0, initialAge: 0,
            lifetime: nil, flags: [])
        return NotModifiedDecision(headers, stored: response, isValidating: isValidating, own: own)
    }

    @Test(
        arguments: [
            ([:], [:], .confirm), ([:], [.eTag: "\"a\""], .confirm),
            ([:], [.eTag: "\"b\""], .askAgain),
            ([.ifModifiedSince: sunday], [:], .confirm),
            ([.ifNoneMatch: "\"a\""], [:], .confirm), ([.ifNoneMatch: "\"a\""], [.eTag: "\"a\""], .confirm),
            ([.ifNoneMatch: "\"b\""], [.eTag: "\"a\""], .confirm),
            ([.ifNoneMatch: "\"b\""], [.eTag: "\"b\""], .pass(isConfirming: false)),
            ([.ifNoneMatch: "\"b\""], [.lastModified: monday], .confirm),
            ([.ifNoneMatch: "\"b\""], [.lastModified: sunday], .pass(isConfirming: false)),
            ([.ifNoneMatch: "\"b\""], [:], .askAgain),
            ([.ifNoneMatch: "\"b\""], [.eTag: "\"c\""], .askAgain),
            ([.ifNoneMatch: "*"], [:], .pass(isConfirming: false)),
            ([.ifNoneMatch: "*"], [.eTag: "\"a\""], .pass(isConfirming: true)),
        ] as [(HTTPFields, HTTPFields, NotModifiedDecision)])
    func `a 304 confirms the stored response, is passed on or causes another request`(
        own: HTTPFields, headers: HTTPFields, decision: NotModifiedDecision
    ) {
        #expect(self.decision(headers, own: own) == decision)
    }

    @Test func `a 304 to the caller's conditions alone is passed to the caller`() {
        let own: HTTPFields = [.ifNoneMatch: "\"b\""]
        #expect(decision([:], own: own, isValidating: false) == .pass(isConfirming: false))
        #expect(decision([.eTag: "\"b\""], own: own, isValidating: false) == .pass(isConfirming: false))
        #expect(decision([.eTag: "\"a\""], own: own, isValidating: false) == .pass(isConfirming: true))
        #expect(decision([.eTag: "\"a\""], own: [:], isValidating: false) == .pass(isConfirming: false))
    }
}

@Suite("RFC 9111 section 4.3.4, a 304 to the tags of several variants") struct VariantTagsTests {
    private func stored(_ headers: HTTPFields) -> StoredResponse {
        StoredResponse(
            status: 200, headerBlock: HeaderBlock.bytes(of: headers), body: Data(), storedAt: 0, initialAge: 0,
            lifetime: nil, flags: [])
    }

    @Test(
        arguments: [
            (nil, [:], [.eTag: "\"a\""], .select(variant: 0)), (nil, [:], [.eTag: "W/\"b\""], .select(variant: 1)),
            (nil, [:], [.eTag: "\"w\""], .askAgain),
            (nil, [:], [.eTag: "W/\"w\""], .select(variant: 2)),
            (nil, [:], [:], .askAgain), (nil, [:], [.eTag: "\"x\""], .askAgain),
            (nil, [.ifNoneMatch: "\"x\""], [.eTag: "\"x\""], .pass(isConfirming: false)),
            (nil, [.ifNoneMatch: "\"x\", \"a\""], [.eTag: "\"a\""], .select(variant: 0)),
            (nil, [.ifNoneMatch: "*"], [.eTag: "\"a\""], .pass(isConfirming: false)),
            ("\"s\"", [:], [.eTag: "\"s\""], .confirm), ("\"s\"", [:], [.eTag: "\"b\""], .select(variant: 1)),
            ("\"s\"", [:], [.eTag: "\"x\""], .askAgain),
            ("\"s\"", [:], [.lastModified: monday], .askAgain),
            (nil, [:], [.eTag: "\"c\"", .contentEncoding: "gzip"], .select(variant: 3)),
            (nil, [:], [.eTag: "\"a\"", .contentEncoding: "gzip"], .askAgain),
            (nil, [:], [.eTag: "\"c\""], .select(variant: 3)),
        ] as [(String?, HTTPFields, HTTPFields, NotModifiedDecision)])
    func `a 304 selects the variant whose entity tag it has`(
        tag: String?, own: HTTPFields, headers: HTTPFields, decision: NotModifiedDecision
    ) {
        let variants: [HTTPFields] = [
            [.eTag: "\"a\""], [.eTag: "\"b\""], [.eTag: "W/\"w\""], [.eTag: "\"c\"", .contentEncoding: "gzip"],
        ]
        #expect(
            NotModifiedDecision(
                headers, stored: tag.map { stored([.eTag: $0]) }, variants: variants.map(stored), isValidating: true,
                own: own) == decision)
    }

    @Test(
        arguments: [
            ("gzip", nil, false), ("gzip", "gzip", true), ("gzip", "br, GZIP;q=0.5", true),
            ("gzip", "gzip; q=0.0", false),
            ("gzip", "*", true), ("gzip", "*;q=0", false), ("gzip", "br, *;q=0.1", true),
            ("gzip", "gzip;q=0, *", false), ("gzip, br", "gzip, *", true), ("x-gzip", "gzip", true),
            ("gzip", "x-gzip", true), ("gzip", "x-gzip;q=0, *", false), ("compress", "x-compress", true),
            ("gzip, br", "gzip", false), ("gzip, br", "gzip, br", true), ("identity", nil, true),
            (nil, nil, true),
        ] as [(String?, String?, Bool)])
    func `the entity tag of a coded variant is sent if the client accepts the coding`(
        coding: String?, accepted: String?, isNamed: Bool
    ) {
        var request = HTTPFields()
        request[.acceptEncoding] = accepted
        var response = HTTPFields()
        response[.contentEncoding] = coding
        #expect(request.accepts(codingOf: response) == isNamed)
    }
}
