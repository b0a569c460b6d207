import Foundation
import HTTPTypes
import Testing

@testable import Diamond

private let load = CacheDecision.ask(conditionally: false, elseStored: .none)
private let loadElseStored = CacheDecision.ask(conditionally: false, elseStored: .staleIfError)

/// Decides for a response with a lifetime of 100 seconds.
///
/// - Parameters:
///   - age: the seconds since the response was stored.
///   - control: the `Cache-Control` of the response.
///   - request: the `Cache-Control` of the request.
private func decide(
    age: Int64,
    _ control: String = "",
    flags: StoredResponse.Flags = [],
    by request: String? = nil,
    under policy: CachePolicy = .automatic
) -> CacheDecision {
    let stored = StoredResponse.stub(lifetime: 100_000, flags: flags, headers: "Cache-Control: \(control)\n")
    return CacheDecision(
        now: stored.storedAt + age * 1000, stored: stored, policy: policy,
        request: request.map { CacheControl([.cacheControl: $0]) })
}

@Suite("RFC 9111 section 5.2.1") struct ReuseTests {
    @Test(
        arguments: [
            (50, "max-age=50", .serve(.cache)), (51, "max-age=50", load), (50, "max-age=200", .serve(.cache)),
            (0, "max-age=0", load), (0, "max-age=x", load), (150, "max-age=200", load),
        ] as [(Int64, String, CacheDecision)])
    func `max-age limits the age (section 5.2.1.1)`(age: Int64, request: String, decision: CacheDecision) {
        #expect(decide(age: age, by: request) == decision)
    }

    @Test(
        arguments: [
            (50, "max-stale", .serve(.cache)), (150, "max-stale", .serve(.stale)),
            (150, "max-stale=50", .serve(.stale)), (151, "max-stale=50", load), (150, "max-stale=x", load),
            (150, "max-stale, max-age=200", .serve(.stale)), (150, "max-stale, max-age=100", load),
            (150, "max-stale, min-fresh=1", load), (150, "max-stale, no-cache", load),
        ] as [(Int64, String, CacheDecision)])
    func `max-stale accepts a stale response (section 5.2.1.2)`(age: Int64, request: String, decision: CacheDecision) {
        #expect(decide(age: age, by: request) == decision)
    }

    @Test(
        arguments: [
            (50, "min-fresh=50", .serve(.cache)), (51, "min-fresh=50", load), (99, "min-fresh=x", .serve(.cache)),
            (100, "min-fresh=0", load),
        ] as [(Int64, String, CacheDecision)])
    func `min-fresh requires a remaining lifetime (section 5.2.1.3)`(
        age: Int64, request: String, decision: CacheDecision
    ) {
        #expect(decide(age: age, by: request) == decision)
    }

    @Test func `no-cache asks for a validation (section 5.2.1.4)`() {
        #expect(decide(age: 0, by: "no-cache") == load)
        let confirm = CacheDecision.ask(conditionally: true, elseStored: .none)
        #expect(decide(age: 0, flags: .hasValidator, by: "no-cache") == confirm)
    }

    @Test(
        arguments: [
            (50, "only-if-cached", .serve(.cache)), (150, "only-if-cached", .fail),
            (50, "only-if-cached, no-cache", .fail), (50, "only-if-cached, max-age=20", .fail),
            (150, "only-if-cached, max-stale=60", .serve(.stale)), (150, "only-if-cached, max-stale=40", .fail),
        ] as [(Int64, String, CacheDecision)])
    func `only-if-cached serves a response that may be served, or fails (section 5.2.1.7)`(
        age: Int64, request: String, decision: CacheDecision
    ) {
        #expect(decide(age: age, by: request) == decision)
    }

    @Test(
        arguments: [
            (.cacheElseNetwork, .serve(.cache), .serve(.stale)), (.cacheOnly, .serve(.cache), .serve(.stale)),
            (.networkElseCache, .serve(.cache), .serve(.stale)),
            (.staleWhileRevalidate, .serve(.cache), .serve(.stale)),
            (.revalidate, .fail, .fail), (.reload, .fail, .fail), (.noStore, .fail, .fail),
        ] as [(CachePolicy, CacheDecision, CacheDecision)])
    func `only-if-cached sends no request, whatever the app's policy`(
        policy: CachePolicy, fresh: CacheDecision, stale: CacheDecision
    ) {
        #expect(decide(age: 50, by: "only-if-cached", under: policy) == fresh)
        #expect(decide(age: 150, by: "only-if-cached", under: policy) == stale)
        let request = CacheControl([.cacheControl: "only-if-cached"])
        #expect(CacheDecision(now: 0, stored: nil, policy: policy, request: request) == .fail)
    }

    @Test(arguments: CachePolicy.Mode.allCases.filter { $0 != .automatic })
    func `the other directives do not change the decision of an app's policy`(mode: CachePolicy.Mode) {
        let policy = CachePolicy(mode)
        for age in [50, 150] as [Int64] {
            let request = "max-age=0, no-cache, min-fresh=100, stale-if-error=100"
            #expect(decide(age: age, by: request, under: policy) == decide(age: age, under: policy))
        }
    }
}

@Suite("RFC 9111 section 4.2.4") struct StaleReuseTests {
    private static let flags: [StoredResponse.Flags] = [.noCache, .mustRevalidate, .invalidated]

    @Test(arguments: flags) func `a stale response that must be validated is never served`(flag: StoredResponse.Flags) {
        let control = "stale-while-revalidate=100, stale-if-error=100"
        for request in [nil, "max-stale", "stale-if-error=100"] {
            #expect(decide(age: 150, control, flags: flag, by: request) == load)
        }
        #expect(decide(age: 150, control, flags: flag, by: "only-if-cached, max-stale") == .fail)
    }

    @Test func `a stale response is not served without a directive that allows it`() {
        #expect(decide(age: 100) == load)
        #expect(decide(age: 100, "public, max-age=100") == load)
    }

    @Test func `a response from the future is stale`() {
        #expect(decide(age: -61, "stale-while-revalidate=100", by: "max-stale") == load)
    }
}

@Suite("RFC 5861 section 3") struct StaleWhileRevalidateTests {
    private static let control = "max-age=100, stale-while-revalidate=50"

    @Test(
        arguments: [
            (99, nil, .serve(.cache)), (100, nil, .serveStaleAndRefresh), (150, nil, .serveStaleAndRefresh),
            (151, nil, load), (120, "max-age=200", load), (120, "min-fresh=1", load), (120, "no-cache", load),
            (120, "no-transform", .serveStaleAndRefresh), (120, "max-stale", .serve(.stale)),
            (120, "only-if-cached", .serve(.stale)),
        ] as [(Int64, String?, CacheDecision)])
    func `a stale response is served within stale-while-revalidate, and refreshed`(
        age: Int64, request: String?, decision: CacheDecision
    ) {
        #expect(decide(age: age, Self.control, by: request) == decision)
    }

    @Test func `stale-while-revalidate begins at the end of the app's maxAge`() {
        let stored = StoredResponse.stub(lifetime: nil, headers: "Cache-Control: stale-while-revalidate=50\n")
        let policy = CachePolicy.automatic(maxAge: .seconds(100))
        #expect(CacheDecision(now: 99_000, stored: stored, policy: policy) == .serve(.cache))
        #expect(CacheDecision(now: 150_000, stored: stored, policy: policy) == .serveStaleAndRefresh)
        #expect(CacheDecision(now: 151_000, stored: stored, policy: policy) == load)
    }
}

@Suite("RFC 5861 section 4") struct StaleIfErrorTests {
    private static let control = "max-age=100, stale-if-error=50"

    @Test(
        arguments: [
            (100, control, nil, loadElseStored), (150, control, nil, loadElseStored), (151, control, nil, load),
            (120, "", nil, load), (120, "", "stale-if-error=50", loadElseStored), (151, "", "stale-if-error=50", load),
            (151, control, "stale-if-error=60", loadElseStored), (120, control, "max-age=0", loadElseStored),
            (120, control, "no-cache", load), (120, "", "no-cache, stale-if-error=50", loadElseStored),
            (50, control, "max-age=0", loadElseStored),
        ] as [(Int64, String, String?, CacheDecision)])
    func `a stale response replaces an error within stale-if-error of the response or the request`(
        age: Int64, control: String, request: String?, decision: CacheDecision
    ) {
        #expect(decide(age: age, control, by: request) == decision)
    }
}

@Suite("RFC 8246 section 2") struct ImmutableTests {
    @Test(
        arguments: [
            (50, "immutable", "max-age=0", .serve(.cache)), (50, "immutable", "max-age=10", .serve(.cache)),
            (50, "", "max-age=0", load), (50, "immutable", "no-cache", load),
            (50, "immutable", "max-age=0, min-fresh=60", load), (100, "immutable", "max-age=0", load),
            (50, "immutable=0", "max-age=0", .serve(.cache)), (50, "", "max-age=0, immutable", load),
        ] as [(Int64, String, String, CacheDecision)])
    func `a request with max-age is served a fresh immutable response`(
        age: Int64, control: String, request: String, decision: CacheDecision
    ) {
        #expect(decide(age: age, control, by: request) == decision)
    }
}
