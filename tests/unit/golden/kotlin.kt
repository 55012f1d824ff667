package a.b

import x.y.Z as Q
import k.*

/** A pair of things. Kept small. */
@Serializable
data class Pair2<T>(val a: String, var b: Int = 1) : Base(a), Named by names {
    constructor(x: Int) : this("", x)

    companion object {
        fun make(): Pair2<Int> = Pair2("", 1)
    }

    inner class Inner

    // Merges.
    override fun merge(x: Map<String, Int>, vararg y: String): List<T> {
        fun nested(z: (Int) -> Unit = {}) {}
        return listOf()
    }
}

enum class Colour(val rgb: Int) : Named {
    RED(1) {
        override fun name() = "red"
    };

    fun hex(): String = ""
}

fun interface Callback {
    fun run(a: Int)
}

sealed interface State

object Registry : Named {
    @JvmStatic
    fun find(id: String): State? = null
}

/** Takes the first. */
suspend inline fun <reified T> List<T>.firstOr(default: T, by: (T) -> Boolean): T? = null

fun String?.orDash() = this ?: "-"

typealias Index = Map<String, Int>

val square = fun(x: Int): Int { return x * x }
