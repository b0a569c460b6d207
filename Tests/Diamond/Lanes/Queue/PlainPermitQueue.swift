@testable import Diamond

/// A plain form of the permit queue: every decision examines all waiting requests.
struct PlainPermitQueue {
    private struct Line: Hashable {
        var place: PermitScope
        var priority: RequestPriority
    }

    private struct Waiter {
        var line: Line
        var begun: Int
        /// The time of its arrival in its line, which is later than that in the queue where its priority was changed.
        var joined: Int

        var level: Int { line.priority.rawValue * Urgency.aging - begun }
    }

    var width: Int
    var originWidth: Int
    var limits: [Lane: LaneLimits]
    var pauses = LanePauses()
    private(set) var flying: [PermitScope] = []
    private(set) var favored: Int?
    /// The waiting requests, by their numbers in order of arrival.
    private var waiters: [Int: Waiter] = [:]
    private var joined = 0
    private var begun = 0

    init(width: Int, originWidth: Int, limits: [Lane: LaneLimits]) {
        (self.width, self.originWidth, self.limits) = (width, originWidth, limits)
    }

    var waiting: [Int] { waiters.keys.sorted() }

    mutating func begins(_ place: PermitScope) -> Bool {
        guard flying.count < width, hasRoom(place) else { return false }
        begin(place)
        return true
    }

    mutating func add(_ number: Int, _ place: PermitScope, _ priority: RequestPriority) {
        joined += 1
        waiters[number] = Waiter(line: Line(place: place, priority: priority), begun: begun, joined: joined)
    }

    mutating func remove(_ number: Int) {
        waiters[number] = nil
        if favored == number { favored = nil }
    }

    mutating func change(_ number: Int, to priority: RequestPriority) {
        guard waiters[number]?.line.priority != priority else { return }
        joined += 1
        waiters[number]?.line.priority = priority
        waiters[number]?.joined = joined
    }

    mutating func end(_ index: Int) { flying.remove(at: index) }

    mutating func admit() -> [Int] {
        var admitted: [Int] = []
        while !waiters.isEmpty, flying.count < width, !pauses.includesAllLanes, let next = next() {
            admitted.append(next)
            if let place = waiters[next]?.line.place { begin(place) }
            remove(next)
        }
        return admitted
    }

    private mutating func begin(_ place: PermitScope) {
        flying.append(place)
        begun += 1
    }

    private mutating func next() -> Int? {
        favored = nil
        let patient = best { place in
            !pauses.contains(place.lane) && !hasRoom(in: place.lane)
                && flying.contains { $0.lane == place.lane && $0 != place }
        }
        if let patient, let waiter = waiters[patient],
            waiter.level + begun >= (RequestPriority.veryHigh.rawValue + 1) * Urgency.aging
        {
            favored = patient
        }
        return best(where: hasRoom)
    }

    /// Returns the most urgent of the first in each line, and of equals the first to arrive.
    private func best(where isChosen: (PermitScope) -> Bool) -> Int? {
        var heads: [Line: (number: Int, waiter: Waiter)] = [:]
        for (number, waiter) in waiters where waiter.joined < heads[waiter.line]?.waiter.joined ?? .max {
            heads[waiter.line] = (number, waiter)
        }
        let chosen = heads.values.filter { isChosen($0.waiter.line.place) }
        return chosen.max { ($0.waiter.level, -$0.number) < ($1.waiter.level, -$1.number) }?.number
    }

    private func hasRoom(_ place: PermitScope) -> Bool {
        let kept = favored.flatMap { waiters[$0]?.line.place.origin } == place.origin ? 1 : 0
        return !pauses.contains(place.lane) && hasRoom(in: place.lane)
            && flying.count { $0.origin == place.origin } + kept < originWidth
    }

    private func hasRoom(in lane: Lane) -> Bool {
        limits.isEmpty || flying.count { $0.lane == lane } < limits[lane]?.width ?? width
    }
}
