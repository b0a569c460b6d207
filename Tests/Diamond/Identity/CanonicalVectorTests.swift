import Crypto
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

/// The vectors of `Fixtures/Canonical`, which another implementation created from the specification.
private struct CanonicalVectors: Decodable {
    struct Case: Decodable {
        var rule, request, canonical, key: String
    }

    struct Pair: Decodable {
        var rule: String
        var same: Bool
        var one, other: String
    }

    struct Refusal: Decodable {
        var rule, request: String
    }

    var version: Int
    var secret: String
    var cases: [Case]
    var pairs: [Pair]
    var refused: [Refusal]

    static func read() throws -> Self {
        try JSONDecoder().decode(Self.self, from: Data(try Fixture.bytes("Canonical/canonical-v1.json")))
    }

    static func form(_ written: String) throws -> CanonicalForm {
        let request = try Request(json: Data(written.utf8))
        return try CanonicalForm(of: request, rules: CanonicalFormTests.rules)
    }
}

@Suite("The vectors of the canonical form") struct CanonicalVectorTests {
    @Test func `the vector of every case equals the canonical form and the key of its request`() throws {
        let vectors = try CanonicalVectors.read()
        #expect(vectors.version == 1)
        #expect(vectors.secret == String(repeating: "07", count: 32))
        for vector in vectors.cases {
            guard let form = try checked(vector.rule, vector.request) else { continue }
            // Bytes, because texts that differ in normalization only are equal in Swift.
            let isExpected = form.bytes == Array(vector.canonical.utf8)
            #expect(isExpected, "\(vector.rule)\n\(vector.request)\n\(form.text)\n\(vector.canonical)")
            #expect(form.key.description == vector.key, "\(vector.rule)\n\(vector.request)")
        }
    }

    @Test func `the vector of every pair says whether the two canonical forms and keys are equal`() throws {
        for pair in try CanonicalVectors.read().pairs {
            guard let one = try checked(pair.rule, pair.one), let other = try checked(pair.rule, pair.other) else {
                continue
            }
            let isSame = one.bytes == other.bytes
            #expect(isSame == pair.same, "\(pair.rule)\n\(pair.one)\n\(pair.other)")
            #expect((one.key == other.key) == pair.same, "\(pair.rule)\n\(pair.one)\n\(pair.other)")
        }
    }

    @Test func `the vector of every refused request belongs to a request that has no canonical form`() throws {
        for refusal in try CanonicalVectors.read().refused {
            #expect(throws: RequestError.self, "\(refusal.rule)\n\(refusal.request)") {
                try CanonicalVectors.form(refusal.request)
            }
        }
    }

    @Test func `the vector of every case also holds after its request is encoded and decoded`() throws {
        for vector in try CanonicalVectors.read().cases {
            let written = try Request(json: Data(vector.request.utf8)).json()
            let form = try checked(vector.rule, String(decoding: written, as: UTF8.self))
            let isExpected = form?.bytes == Array(vector.canonical.utf8)
            #expect(isExpected, "\(vector.rule)\n\(vector.request)\n\(form?.text ?? "")\n\(vector.canonical)")
        }
    }

    @Test func `the vectors have at least 200 cases, and show every kind of line`() throws {
        let cases = try CanonicalVectors.read().cases
        #expect(cases.count >= 200)
        let tags = Set(cases.flatMap { $0.canonical.split(separator: "\n").map { String($0.prefix { $0 != " " }) } })
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        let lines = page.split(separator: "## The lines")[1].split(separator: "\n## ")[0].split(separator: "\n")
        let documented = lines.filter { $0.hasPrefix("| `") }.map { String($0.dropFirst(3).prefix { $0 != "`" }) }
        #expect(tags == Set(documented + ["secret-field", "secret-part"]))
    }

    private static let page = Fixture.directory.appending(
        path: "../../Sources/Diamond/Documentation.docc/CanonicalForm.md"
    )

    private func checked(_ rule: String, _ request: String) throws -> CanonicalForm? {
        do {
            return try CanonicalVectors.form(request)
        } catch {
            Issue.record("\(rule)\n\(request)\n\(error)")
            return nil
        }
    }
}
