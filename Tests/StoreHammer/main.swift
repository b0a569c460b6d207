import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation

// Stores, reads, marks stale and erases in one store, beside others of its kind, any of which may be killed at any
// moment after it has said that it begins, for a number of rounds, or of seconds where these are over before:
// StoreHammer DIRECTORY SEED ROUNDS [SECONDS|removed]. Ends with 1 and a line as soon as an answer is wrong, or
// something fails; where the file is removed now and then, what fails for that is no mistake. StoreHammer fork
// DIRECTORY: see ForkedChild. StoreHammer stop FILE: stops itself in the middle of a transaction, with the lock to
// write the file. StoreHammer download|download-sealed DIRECTORY URL [FILE]: see Downloading. StoreHammer
// store|invalidate DIRECTORY MILLISECONDS: see QueryChange.

let arguments = CommandLine.arguments.dropFirst().map { $0 }
if arguments.count == 2, arguments[0] == "fork" { exit(try await ForkedChild.run(in: arguments[1])) }
if arguments.count == 2, arguments[0] == "stop" { try stop(writing: arguments[1]) }
if (3...4).contains(arguments.count), arguments[0].hasPrefix("download") {
    let path = arguments.count == 4 ? arguments[3] : nil
    exit(
        await Downloading.run(
            in: arguments[1], from: arguments[2], to: path, isSealed: arguments[0] == "download-sealed"))
}
if arguments.count == 3, let change = QueryChange(rawValue: arguments[0]), let time = Int(arguments[2]) {
    try await change.perform(in: arguments[1], at: time)
    exit(0)
}
guard (3...4).contains(arguments.count), let seed = UInt64(arguments[1]), let rounds = Int(arguments[2]) else {
    FileHandle.standardError.write(Data("usage: StoreHammer DIRECTORY SEED ROUNDS [SECONDS|removed]\n".utf8))
    exit(64)
}

/// Goes on where it is let go on.
func stop(writing path: String) throws -> Never {
    let isQueue = path.hasSuffix("replay.sqlite")
    let configuration = isQueue ? SQLiteConfiguration.ofQueueFile : .ofCacheFile
    try SQLiteDatabase(path: path, configuration: configuration).write { (_) throws(SQLiteError) in _ = raise(SIGSTOP) }
    exit(0)
}

let end = arguments.dropFirst(3).first.flatMap { Int($0) }.map { ContinuousClock.now + .seconds($0) }
let isRemoved = arguments.last == "removed"

let activity = Activity()
let observation = activity.observe { event in
    switch event {
    // Nothing that can be killed leaves a damaged row or file.
    case .cacheEntryDropped(let reason), .cacheSetAside(let reason), .cacheFailed(let reason): failUnlessRemoved(reason)
    default: break
    }
}

@Sendable func fail(_ reason: String) {
    print(reason)
    exit(1)
}

@Sendable func failUnlessRemoved(_ reason: String) { if !isRemoved { fail(reason) } }

let store = Store(directory: URL(filePath: arguments[0]))
// Whoever kills it counts from here.
FileHandle.standardOutput.write(Data("begun\n".utf8))
let cache = try opened()
let variants = isRemoved ? nil : VariantLoad(store, report: fail)
var random = SplitMix(state: seed)

func opened() throws(CacheError) -> Cache {
    while true {
        do {
            // Small enough to evict all the time, with a memory tier that answers for a part.
            return try Cache(store, activity: activity, memoryCapacity: 1 << 20, diskCapacity: 36 << 20)
        } catch {
            if !isRemoved { throw error }
        }
    }
}

/// Stores a large body in pieces, now and then broken off and gone on with, and reads what there is. Others do the
/// same.
func stream(_ entry: CacheEntry, toItsEnd: Bool) async {
    do throws(CacheError) {
        let writer = try cache.bodyWriter(for: entry, continuing: partial(of: entry))
        try await writer.append(entry.stored.body.dropFirst(writer.size))
        if toItsEnd { try await writer.finish() } else { try await writer.abandon(keepingPartial: true) }
        guard var reader = try cache.bodyReader(entry.key, request: entry.request) else { return }
        var body = Data()
        while let chunk = try reader.next() { body += chunk }
        if !LargeSample.isSound(body, reader.stored) { fail("\(entry.url) came back with a body that nobody stored") }
    } catch {
        // Another one was faster.
        if error.code != .entryGone { failUnlessRemoved("\(error)") }
    }
}

/// Of the same version only: its validator tells.
func partial(of entry: CacheEntry) throws(CacheError) -> PartialBody? {
    guard let partial = try cache.partialBody(entry.key, request: entry.request) else { return nil }
    return partial.stored.headerBlock == entry.stored.headerBlock ? partial : nil
}

for _ in 0..<rounds {
    if let end, ContinuousClock.now >= end { break }
    let sample = HammerSample(number: Int.random(in: 0..<400, using: &random))
    do {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<35: cache.store(try sample.entry(version: .random(in: 0...255, using: &random)))
        case 35..<55:
            guard let variants else { continue }
            let sample = VariantSample(
                number: .random(in: VariantSample.numbers, using: &random),
                kind: .random(in: VariantSample.kinds, using: &random))
            let range = sample.ranges.randomElement(using: &random) ?? nil
            if let fault = try await variants.fault(of: sample, range) { fail(fault) }
        case 55..<92:
            let (key, request) = try sample.identity()
            guard let found = cache.find(key, request: request) else { continue }
            if !sample.isSound(found) { fail("entry \(sample.number) came back with a body that nobody stored") }
        case 92..<95: cache.forget(try sample.identity().key)
        case 95..<97: try await cache.invalidate(.tag("tag\(sample.number % 7)"))
        case 97: try await cache.purge(.tag("tag\(sample.number % 50)"))
        case 98:
            let entry = try LargeSample(number: sample.number % 5).entry(version: .random(in: 0...255, using: &random))
            await stream(entry, toItsEnd: .random(using: &random))
        default: await cache.flush()
        }
    } catch {
        failUnlessRemoved("\(error)")
    }
}
await cache.flush()
withExtendedLifetime(observation) {}
