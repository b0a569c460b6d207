import Diamond
import DiamondTestSupport
import Foundation

// Stores, reads, marks stale and erases in one store for as long as it lives, beside others of its kind, any of which
// may be killed at any moment: StoreHammer DIRECTORY SEED ROUNDS. Ends with 1 and a line as soon as an answer is wrong.

let arguments = CommandLine.arguments.dropFirst().map { $0 }
guard arguments.count == 3, let seed = UInt64(arguments[1]), let rounds = Int(arguments[2]) else {
    FileHandle.standardError.write(Data("usage: StoreHammer DIRECTORY SEED ROUNDS\n".utf8))
    exit(64)
}

let activity = Activity()
let observation = activity.observe { event in
    switch event {
    // Nothing that can be killed leaves a damaged row or file.
    case .cacheEntryDropped(let reason), .cacheSetAside(let reason), .cacheFailed(let reason): fail(reason)
    default: break
    }
}

@Sendable func fail(_ reason: String) {
    print(reason)
    exit(1)
}

let store = Store(directory: URL(filePath: arguments[0]))
// Small enough to evict all the time, with a memory tier that answers for a part.
let cache = try Cache(store, activity: activity, memoryCapacity: 1 << 20, diskCapacity: 36 << 20)
var random = SplitMix(state: seed)

for _ in 0..<rounds {
    let sample = HammerSample(number: Int.random(in: 0..<400, using: &random))
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<35: cache.store(try sample.entry(version: .random(in: 0...255, using: &random)))
    case 35..<92:
        let (key, request) = try sample.identity()
        guard let found = cache.find(key, request: request) else { continue }
        if !sample.isSound(found) { fail("entry \(sample.number) came back with a body that nobody stored") }
    case 92..<95: cache.forget(try sample.identity().key)
    case 95..<97: try await cache.invalidate(.tag("tag\(sample.number % 7)"))
    case 97: try await cache.purge(.tag("tag\(sample.number % 50)"))
    default: await cache.flush()
    }
}
await cache.flush()
withExtendedLifetime(observation) {}
