/// Waits until a condition holds that nobody tells of; the test's time limit ends it when it never does.
///
/// Looks often at first, and then after a moment each time: whoever does nothing but yield takes the processors from what
/// he waits for. What a test is about never depends on how long that is. Yields before it looks: in a loop whose condition
/// holds already it would keep its thread forever, and with as many tests as there are processors all others from theirs.
package func untilTrue(_ condition: () throws -> Bool) async rethrows {
    await Task.yield()
    var looks = 0
    while try !condition(), !Task.isCancelled {
        looks += 1
        if looks <= 100 {
            await Task.yield()
        } else {
            try? await Task.sleep(for: .milliseconds(looks <= 300 ? 1 : 5))
        }
    }
}
