import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A retry policy") struct RetryPolicyTests {
    static let full: RetryPolicy = {
        var policy = RetryPolicy(
            attempts: 5,
            baseDelay: .milliseconds(100),
            attemptTimeout: .milliseconds(1500),
            deadline: .seconds(60),
            window: nil,
            statuses: [503, 429],
            retriesUnsafeMethods: true
        )
        policy.throttledDelay = .seconds(2)
        policy.maxDelay = .seconds(10)
        policy.retryAfterLimit = .seconds(1)
        return policy
    }()

    static let fullText = """
        {"attemptTimeout":1.5,"attempts":5,"baseDelay":0.1,"deadline":60,"maxDelay":10,"retryAfterLimit":1,\
        "statuses":[429,503],"throttledDelay":2,"unsafeMethods":true,"window":null}
        """

    /// Policies and their encoded forms, which are stored on users' disks.
    static let texts: [(RetryPolicy, String)] = [
        (.default, "{}"), (.never, #"{"attempts":1}"#), (.interactive, #"{"attemptTimeout":10,"deadline":30}"#),
        (RetryPolicy(statuses: []), #"{"statuses":[]}"#), (RetryPolicy(baseDelay: .zero), #"{"baseDelay":0}"#),
        (RetryPolicy(window: .milliseconds(1)), #"{"window":0.001}"#), (full, fullText),
    ]

    static func request(_ policy: RetryPolicy?) -> Request {
        var request = Request("http://h/")
        request.retry = policy
        return request
    }

    @Test(arguments: texts) func `an encoded retry policy is a text that never changes`(
        policy: RetryPolicy, text: String
    ) throws {
        let written = try String(decoding: Self.request(policy).json(), as: UTF8.self)
        #expect(written == #"{"method":"GET","retry":\#(text),"url":"http://h/","version":1}"#)
        #expect(try Request(json: Data(written.utf8)).retry == policy)
    }

    @Test(arguments: texts.map(\.0)) func `decodes to an equal policy, with any coder`(
        policy: RetryPolicy
    ) throws {
        #expect(try JSONDecoder().decode(RetryPolicy.self, from: JSONEncoder().encode(policy)) == policy)
        let list = try PropertyListEncoder().encode([policy])
        #expect(try PropertyListDecoder().decode([RetryPolicy].self, from: list) == [policy])
    }

    @Test func `a request without a retry policy encodes none`() throws {
        let text = try String(decoding: Self.request(nil).json(), as: UTF8.self)
        #expect(!text.contains("retry"))
        #expect(try Request(json: Data(text.utf8)).retry == nil)
        #expect(Self.request(nil) != Self.request(.default))
    }

    @Test(arguments: [
        (#"{"tries":3}"#, "key \"tries\" of the retry policy is not known"), ("3", "the retry policy is a number"),
        (#""never""#, "the retry policy is a string"), ("null", "the retry policy is null"),
        (#"{"attempts":0}"#, "from 1 to 1000"), (#"{"attempts":1001}"#, "from 1 to 1000"),
        (#"{"attempts":1.5}"#, "from 1 to 1000"), (#"{"attempts":"3"}"#, "key \"attempts\""),
        (#"{"baseDelay":-1}"#, "key \"baseDelay\""), (#"{"baseDelay":null}"#, "is null: write seconds"),
        (#"{"maxDelay":"1"}"#, "key \"maxDelay\""), (#"{"deadline":1e300}"#, "key \"deadline\""),
        (#"{"window":true}"#, "key \"window\""), (#"{"statuses":503}"#, "key \"statuses\""),
        (#"{"statuses":[200]}"#, "from 400 to 599"), (#"{"statuses":["503"]}"#, "from 400 to 599"),
        (#"{"unsafeMethods":1}"#, "write true or false"),
    ]) func `an invalid encoded retry policy is refused with the key and the remedy`(text: String, part: String) {
        let written = Data(#"{"url":"http://h","retry":\#(text)}"#.utf8)
        let error = #expect(throws: RequestError.self) { try Request(json: written) }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(throws: RequestError.self) { try JSONDecoder().decode(RetryPolicy.self, from: Data(text.utf8)) }
    }

    @Test func `is bounded, however it is set`() {
        var policy = RetryPolicy(
            attempts: -1, baseDelay: .seconds(-1), deadline: .seconds(Int64.max), statuses: [200, 503])
        #expect(
            policy
                == RetryPolicy(
                    attempts: 1, baseDelay: .zero, deadline: .milliseconds(Duration.longest), statuses: [503]))
        (policy.attempts, policy.maxDelay, policy.statuses) = (.max, .nanoseconds(1_999_999), [399, 400, 599, 600])
        (policy.window, policy.attemptTimeout) = (.seconds(-5), .microseconds(2500))
        #expect((policy.attempts, policy.maxDelay, policy.statuses) == (1000, .milliseconds(1), [400, 599]))
        #expect((policy.window, policy.attemptTimeout) == (.zero, .milliseconds(2)))
    }

    @Test func `has the documented defaults`() {
        let policy = RetryPolicy.default
        #expect((policy.attempts, policy.baseDelay, policy.throttledDelay) == (3, .milliseconds(50), .seconds(1)))
        #expect((policy.maxDelay, policy.retryAfterLimit, policy.window) == (.seconds(20), .seconds(5), .seconds(30)))
        #expect((policy.attemptTimeout, policy.deadline, policy.retriesUnsafeMethods) == (nil, nil, false))
        #expect(policy.statuses == [408, 425, 429, 500, 502, 503, 504])
    }

    @Test(
        arguments: [
            (nil, nil, 5, 4, nil), (10, nil, 5, 0, 10), (10, nil, 5, 4, 6), (10, nil, 12, 11, 0), (nil, 30, 5, 4, 25),
            (10, 30, 5, 0, 10), (10, 30, 5, 4, 6), (10, 30, 25, 4, 5), (10, 30, 31, 0, 0),
        ] as [(Int64?, Int64?, Int64, Int64, Int64?)])
    func `gives an attempt its unspent time, and no more than the deadline leaves`(
        timeout: Int64?, deadline: Int64?, elapsed: Int64, spent: Int64, limit: Int64?
    ) {
        let policy = RetryPolicy(
            attemptTimeout: timeout.map { .seconds($0) }, deadline: deadline.map { .seconds($0) })
        let left = policy.attemptLimit(elapsed: .seconds(elapsed), after: .seconds(spent))
        #expect(left == limit.map { .seconds($0) })
    }

    @Test func `is not part of the identity of a request`() throws {
        let rules = CanonicalFormTests.rules
        let forms = try [nil, .never, Self.full].map { try CanonicalForm(of: Self.request($0), rules: rules) }
        #expect(Set(forms.map(\.bytes)).count == 1)
        #expect(Set(forms.map(\.key)).count == 1)
    }

    @Test func `is stored outside of its request, and copied on write`() {
        #expect(MemoryLayout<RetryPolicy?>.size > 64, "small enough to stand in the request itself")
        var request = Self.request(Self.full)
        let copy = request
        request.retry?.attempts = 2
        #expect((request.retry?.attempts, copy.retry?.attempts) == (2, 5))
        #expect(request != copy)
    }
}
