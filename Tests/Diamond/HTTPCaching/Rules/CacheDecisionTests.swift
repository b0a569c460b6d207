import Foundation
import Testing

@testable import Diamond

@Suite("The decision what to do for a request") struct CacheDecisionTests {
    /// The stored responses of the table.
    enum Stored: CaseIterable {
        case nothing, fresh, stale, staleWithValidator, silent, noCache, invalidated, forOneUser

        var response: StoredResponse? {
            switch self {
            case .nothing: nil
            case .fresh: .stub(lifetime: 60_000)
            case .stale: .stub(lifetime: 1000)
            case .staleWithValidator: .stub(lifetime: 1000, flags: .hasValidator)
            case .silent: .stub(lifetime: nil)
            case .noCache: .stub(lifetime: 60_000, flags: [.noCache, .hasValidator])
            case .invalidated: .stub(lifetime: 60_000, flags: [.invalidated, .hasValidator])
            case .forOneUser: .stub(lifetime: nil, flags: [.shared, .hasValidator])
            }
        }
    }

    static let load = CacheDecision.ask(conditionally: false, elseStored: .none)
    static let confirm = CacheDecision.ask(conditionally: true, elseStored: .none)

    /// The decisions for each policy, in the order of the cases of `Stored`.
    static let table: [(CachePolicy, [CacheDecision])] = [
        (.automatic, [load, .serve(.cache), load, confirm, load, confirm, confirm, confirm]),
        (
            .automatic(maxAge: .seconds(30)),
            [load, .serve(.cache), load, confirm, .serve(.cache), confirm, confirm, confirm]
        ),
        (
            .cacheElseNetwork,
            [
                load, .serve(.cache), .serve(.stale), .serve(.stale), .serve(.stale), .serve(.stale), .serve(.stale),
                confirm,
            ]
        ),
        (
            .networkElseCache,
            [
                load, .ask(conditionally: false, elseStored: .anyFailure),
                .ask(conditionally: false, elseStored: .anyFailure),
                .ask(conditionally: true, elseStored: .anyFailure), .ask(conditionally: false, elseStored: .anyFailure),
                .ask(conditionally: true, elseStored: .anyFailure), .ask(conditionally: true, elseStored: .anyFailure),
                confirm,
            ]
        ),
        (
            .staleWhileRevalidate,
            [
                load, .serve(.cache), .serveStaleAndRefresh, .serveStaleAndRefresh, .serveStaleAndRefresh,
                .serveStaleAndRefresh, .serveStaleAndRefresh, confirm,
            ]
        ),
        (.revalidate, [load, load, load, confirm, load, confirm, confirm, confirm]),
        (
            .cacheOnly,
            [
                .fail, .serve(.cache), .serve(.stale), .serve(.stale), .serve(.stale), .serve(.stale), .serve(.stale),
                .fail,
            ]
        ),
        (.reload, [load, load, load, load, load, load, load, load]),
        (.noStore, [load, load, load, load, load, load, load, load]),
    ]

    @Test(arguments: table) func `depends on policy and stored entry`(policy: CachePolicy, expected: [CacheDecision]) {
        for (stored, decision) in zip(Stored.allCases, expected) {
            // The response was stored ten seconds before.
            #expect(CacheDecision(now: 10_000, stored: stored.response, policy: policy) == decision, "\(stored)")
        }
    }

    @Test(arguments: [
        CachePolicy.automatic, .cacheElseNetwork, .staleWhileRevalidate, .networkElseCache, .revalidate, .cacheOnly,
    ])
    func `only-if-cached does not serve a response that may be for one user`(policy: CachePolicy) {
        let stored = Stored.forOneUser.response
        let request = CacheControl([.cacheControl: "only-if-cached"])
        #expect(CacheDecision(now: 10_000, stored: stored, policy: policy, request: request) == .fail)
    }

    @Test(arguments: [
        (CachePolicy.automatic(maxAge: .seconds(60)), CachePolicy.Mode.automatic),
        (.cacheElseNetwork(maxAge: .seconds(60)), .cacheElseNetwork),
        (.networkElseCache(maxAge: .seconds(60)), .networkElseCache),
        (.staleWhileRevalidate(maxAge: .seconds(60)), .staleWhileRevalidate),
        (.cacheOnly(maxAge: .seconds(60)), .cacheOnly),
    ])
    func `a static function of a policy has the name of its mode`(policy: CachePolicy, mode: CachePolicy.Mode) {
        #expect(policy == CachePolicy(mode, maxAge: .seconds(60)))
    }

    @Test func `takes an age on arrival into account`() {
        let old = StoredResponse.stub(lifetime: 60_000, initialAge: 55_000)
        #expect(CacheDecision(now: 4000, stored: old, policy: .automatic) == .serve(.cache))
        #expect(CacheDecision(now: 5000, stored: old, policy: .automatic) == Self.load)
    }

    @Test func `does not extend an explicit lifetime by the app's maxAge`() {
        let short = StoredResponse.stub(lifetime: 1000)
        let policy = CachePolicy.automatic(maxAge: .seconds(3600))
        #expect(CacheDecision(now: 10_000, stored: short, policy: policy) == Self.load)
    }
}

extension StoredResponse {
    static func stub(
        lifetime: Int64?,
        flags: Flags = [],
        initialAge: Int64 = 0,
        headers: String = "Content-Type: text/plain\n",
        body: String = "body"
    ) -> StoredResponse {
        StoredResponse(
            status: 200,
            headerBlock: Data(headers.utf8),
            body: Data(body.utf8),
            storedAt: 0,
            initialAge: initialAge,
            lifetime: lifetime,
            flags: flags
        )
    }
}
